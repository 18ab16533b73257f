# DefinitionError
# pair: combine gives float64 as component 1, `float64(a.1) + float64(b.0)`, but the value reduced is int32;
# cast it, with lw.cast('int32', ...), or cast the value

import loopwright as lw

pair = lw.reducer(lambda a, b: (a[0] + b[0], a[1] + b[0]), identity=(0, 0), name="pair")
x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
lw.compute("m", (4,), lambda i: pair((x[i, k], k), over=k))
