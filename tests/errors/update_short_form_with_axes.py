# DefinitionError
# s.update: with at=, the function takes one value, the old element: lambda old: old + 1

import loopwright as lw

t = lw.reduce_axis("t", 8)
s = lw.compute("s", (8, 8), lambda y, x: 1.0)
s.update(lambda y, old: old + 1, at=(t, t), over=t)
