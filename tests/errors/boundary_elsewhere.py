# DefinitionError
# repeat_edge: bounds are given for dimension 1, which is not among dims=

import loopwright as lw

lw.repeat_edge(lw.input("x", (4, 4)), dims=0, bounds={1: (0, 2)})
