# ExpressionTypeError
# np.where computes arrays, and `x[i]` is an element that is being defined;
# the functions for elements are Loopwright's own: lw.select

import numpy as np

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("y", (4,), lambda i: np.where(x[i], 1, 2))
