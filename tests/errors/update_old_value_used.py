# DefinitionError
# hist: this is the value before its update, which is gone;
# use what update returned, for example by writing hist = hist.update(...)

import loopwright as lw

x, t = lw.input("x", (8,), "int32"), lw.reduce_axis("t", 8)
hist = lw.compute("hist", (4,), lambda b: lw.const(0, "int32"))
hist.update(lambda old: old + 1, at=x[t], over=t)
lw.compute("out", (4,), lambda b: hist[b] * 2)
