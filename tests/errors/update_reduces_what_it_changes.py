# DefinitionError
# x.update: `sum(x[k], over=k)` reduces elements that the update changes;
# accumulate step by step instead: put k in the update's own over=

import loopwright as lw

t, k = lw.reduce_axis("t", 8), lw.reduce_axis("k", 8)
x = lw.compute("x", (8,), lambda i: 1.0)
x.update(lambda: (t, lw.sum(x[k], over=k)), over=t)
