# DefinitionError
# s.update: axes='i i' names an axis twice

import loopwright as lw

s = lw.compute("s", (8, 8), lambda y, x: 1.0)
s.update(lambda *axes: (axes, 0.0), axes="i i")
