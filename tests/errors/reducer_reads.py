# DefinitionError
# weighted: combine uses `x[0, k]`; it may only use its two operands and numbers,
# what else it needs is a further component of the values

import loopwright as lw

x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
weighted = lw.reducer(lambda a, b: a + b * x[0, k], identity=0, name="weighted")
lw.compute("m", (4,), lambda i: weighted(x[i, k], over=k))
