# DefinitionError
# extern hypotf: `x[i]` is float64; it takes float32, see lw.cast('float32', ...)

import loopwright as lw

hypotf = lw.extern("hypotf", takes=("float32", "float32"), returns="float32")
x = lw.input("x", (4,), "float64")
lw.compute("y", (4,), lambda i: hypotf(x[i], x[i]))
