# DefinitionError
# pair: the identity has 1 components, but the values reduced have 2 (float32, int32)

import loopwright as lw

pair = lw.reducer(lambda a, b: (a[0] + b[0], a[1] + b[1]), identity=0, name="pair")
x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
lw.compute("m", (4,), lambda i: pair((x[i, k], k), over=k))
