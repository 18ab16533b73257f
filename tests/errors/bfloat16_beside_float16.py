# DefinitionError
# bfloat16 and float16 have no common type; cast one of them, for example to float32

import loopwright as lw

x, y = lw.input("x", (4,), "bfloat16"), lw.input("y", (4,), "float16")
lw.compute("z", (4,), lambda i: x[i] + y[i])
