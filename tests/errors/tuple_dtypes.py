# DefinitionError
# stage 'm': it has 2 parts; dtype= is a tuple of as many, not 'float64'

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("m", (4,), lambda i: (x[i], x[i] * 2), dtype="float64")
