# DefinitionError
# s.update, at: s has 2 dimensions (4, 8), but 1 indices were given

import loopwright as lw

s = lw.compute("s", (4, 8), lambda y, x: 1.0)
s.update(lambda i: (i, 0.0))
