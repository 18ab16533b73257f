# DefinitionError
# lw.argmax: 300 elements are more than uint8 can count; say dtype='int64'

import loopwright as lw

x, k = lw.input("x", (4, 300)), lw.reduce_axis("k", 300)
lw.compute("best", (4,), lambda i: lw.argmax(x[i, k], over=k, dtype="uint8"))
