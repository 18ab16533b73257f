# DefinitionError
# widening_mul: there is no type of twice the width of int64

import loopwright as lw

x = lw.input("x", (4,), "int64")
lw.compute("y", (4,), lambda i: lw.widening_mul(x[i], x[i]))
