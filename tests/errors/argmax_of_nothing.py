# DefinitionError
# lw.argmax: over k (0) there is no element, so none is the maximum

import loopwright as lw

x, k = lw.input("x", (4, 0)), lw.reduce_axis("k", 0)
lw.compute("best", (4,), lambda i: lw.argmax(x[i, k], over=k))
