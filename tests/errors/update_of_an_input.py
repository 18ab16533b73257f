# DefinitionError
# x is an input, and the caller's array is not changed; update a stage that copies it:
# lw.compute('x_new', x.shape, lambda *i: x[i]).update(...)

import loopwright as lw

lw.input("x", (8,)).update(lambda i: (i, 0.0))
