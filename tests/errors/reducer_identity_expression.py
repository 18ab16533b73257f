# DefinitionError
# pair: the identity `x[0, 0] * 0` is no number

import loopwright as lw

x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
pair = lw.reducer(lambda a, b: a + b, identity=x[0, 0] * 0, name="pair")
lw.compute("m", (4,), lambda i: pair(x[i, k], over=k))
