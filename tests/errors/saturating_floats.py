# DefinitionError
# saturating_add: `x[i]` is float32; it takes integers, see lw.cast

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: lw.saturating_add(x[i], x[i]))
