# ExpressionTypeError
# int(x) of the expression `x[i]`: its value is known only when the kernel runs; write lw.cast('int32', x)

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: int(x[i]))
