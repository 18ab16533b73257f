# ExpressionTypeError
# the expression `x[i]` has no value yet that '.3f' could format; write it without a format

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: f"{x[i]:.3f}")
