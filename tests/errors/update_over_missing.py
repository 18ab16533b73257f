# DefinitionError
# stage hist.u0: the axis t stands outside every loop that runs over it; put it in the update's over=

import loopwright as lw

x, t = lw.input("x", (8,), "int32"), lw.reduce_axis("t", 8)
hist = lw.compute("hist", (4,), lambda b: lw.const(0, "int32"))
hist.update(lambda old: old + 1, at=x[t])
