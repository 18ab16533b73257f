# ExpressionTypeError
# the expression `x[i]` is one element, nothing is `in` it; compare it, for example (x == a) | (x == b)

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: lw.select(0 in x[i], 1, 2))
