# DefinitionError
# lw.sum: over= names an axis twice: k, k

import loopwright as lw

x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
lw.compute("s", (4,), lambda i: lw.sum(x[i, k], over=(k, k)))
