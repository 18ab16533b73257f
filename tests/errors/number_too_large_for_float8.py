# DefinitionError
# mul: the number 1000 does not fit the float8_e4m3fn expression `x[i]`;
# cast it first, for example lw.cast('float32', x[i])

import loopwright as lw

x = lw.input("x", (4,), "float8_e4m3fn")
lw.compute("y", (4,), lambda i: x[i] * 1000)
