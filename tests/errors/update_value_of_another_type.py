# DefinitionError
# s.update: the value `float64(s[i])` is float64, and s is float32; convert it: lw.cast('float32', ...)

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda i: (i, lw.cast("float64", s[i])))
