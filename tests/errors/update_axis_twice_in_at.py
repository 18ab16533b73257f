# DefinitionError
# s.update: at is [i, i], and i indexes dimensions [0, 1] at once;
# its points must be independent: make i a reduction axis and put it in over=, to run in order

import loopwright as lw

s = lw.compute("s", (8, 8), lambda y, x: 1.0)
s.update(lambda i: ((i, i), 0.0))
