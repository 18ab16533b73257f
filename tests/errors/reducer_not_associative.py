# DefinitionError
# drift: combine is not associative: with a = 0.25, b = 0.25, c = -1.5
# combine(combine(a, b), c) is -1.38318,
# combine(a, combine(b, c)) is -1.17773

import loopwright as lw

drift = lw.reducer(lambda a, b: a + b + a * a * b, identity=0, name="drift")
x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
lw.compute("m", (4,), lambda i: drift(x[i, k], over=k))
