# DefinitionError
# hist.update, at: hist, index 0: `x[t]` is float32; an index is an integer, see lw.cast('int32', ...)

import loopwright as lw

x, t = lw.input("x", (8,)), lw.reduce_axis("t", 8)
hist = lw.compute("hist", (4,), lambda b: lw.const(0, "int32"))
hist.update(lambda old: old + 1, at=x[t], over=t)
