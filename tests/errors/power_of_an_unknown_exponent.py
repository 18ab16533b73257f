# DefinitionError
# `x[i] ** i` on int32: of integers, the exponent is a constant from 0 to 64; cast to float32 first

import loopwright as lw

x = lw.input("x", (8,), "int32")
lw.compute("y", (8,), lambda i: x[i] ** i)
