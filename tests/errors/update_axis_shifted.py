# DefinitionError
# s.update: `s[r, i - 1]` has `i - 1` where i is written;
# the points of i must be independent: make it a reduction axis and put it in over=, to run in order

import loopwright as lw

s = lw.compute("s", (4, 8), lambda r, i: 1.0)
s.update(lambda r, i: ((r, i), s[r, i - 1] + 1), where=lambda i: i > 0)
