# ExpressionTypeError
# divmod(x, y) of the expression `x[i]`: its value is known only when the kernel runs; write x // y and x % y

import loopwright as lw

x = lw.input("x", (4,), "int32")
lw.compute("y", (4,), lambda i: divmod(x[i], 3)[0])
