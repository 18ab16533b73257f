# DefinitionError
# repeat_edge: dimension 1 of x (4, 0) has no elements in 0..0, so there is none to stand outside; constant_exterior is possible

import loopwright as lw

lw.repeat_edge(lw.input("x", (4, 0)))
