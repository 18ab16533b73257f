# DefinitionError
# extern hypotf takes 2 arguments, 1 were given

import loopwright as lw

hypotf = lw.extern("hypotf", takes=("float32", "float32"), returns="float32")
x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: hypotf(x[i]))
