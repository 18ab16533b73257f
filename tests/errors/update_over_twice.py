# DefinitionError
# s.update: the axis t stands twice in over=

import loopwright as lw

t = lw.reduce_axis("t", 8)
s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda: (t, 0.0), over=(t, t))
