# DefinitionError
# s.update: at is [i + 1], and i stands by itself in no dimension of it;
# its points must be independent: make i a reduction axis and put it in over=, to run in order

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda i: (i + 1, 0.0))
