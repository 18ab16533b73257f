# ExpressionTypeError
# the expression `x[i] > 0` has no truth value while the operator is being written;
# use lw.select(condition, a, b) for `if`, `&` for `and`, `|` for `or`, `~` for `not`,
# (a < x) & (x < b) for `a < x < b`, lw.max and lw.min for max, min and sorted

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: lw.cast("int32", 0 < x[i] < 1))
