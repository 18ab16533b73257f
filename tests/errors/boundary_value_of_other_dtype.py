# DefinitionError
# constant_exterior: the value `int32(x[0, 0])` is int32 and x is uint8; cast it, with lw.cast('uint8', ...)

import loopwright as lw

x = lw.input("x", (4, 4), "uint8")
lw.constant_exterior(x, lw.cast("int32", x[0, 0]))
