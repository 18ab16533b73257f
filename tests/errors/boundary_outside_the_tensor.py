# DefinitionError
# mirror_interior: the bounds (2, 6) of dimension 1 of x are no (start, stop) inside 0..4

import loopwright as lw

lw.mirror_interior(lw.input("x", (4, 4)), bounds={1: (2, 6)})
