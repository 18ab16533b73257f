# DefinitionError
# longest: the identity 0 changes what it is combined with:
# combine(0, -1.5) is 0, not -1.5

import loopwright as lw

longest = lw.reducer(lambda a, b: lw.max(a, b), identity=0, name="longest")
x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
lw.compute("m", (4,), lambda i: longest(x[i, k], over=k))
