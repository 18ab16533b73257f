# DefinitionError
# s.update: over= takes reduction axes, such as t = lw.reduce_axis('t', T)

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda i: (i, 0.0), over=(8,))
