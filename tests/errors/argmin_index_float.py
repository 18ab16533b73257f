# DefinitionError
# lw.argmin: dtype='float32' is the index's, which is an integer

import loopwright as lw

x, k = lw.input("x", (4, 300)), lw.reduce_axis("k", 300)
lw.compute("best", (4,), lambda i: lw.argmin(x[i, k], over=k, dtype="float32"))
