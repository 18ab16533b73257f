# DefinitionError
# mul_shift_right: the shift 40 is no number from 0 to 16, the width of int16

import loopwright as lw

x = lw.input("x", (4,), "int16")
lw.compute("y", (4,), lambda i: lw.mul_shift_right(x[i], x[i], 40))
