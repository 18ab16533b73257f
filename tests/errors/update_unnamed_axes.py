# DefinitionError
# s.update: the function names its axes one by one, such as lambda y, x: ...

import loopwright as lw

s = lw.compute("s", (8, 8), lambda y, x: 1.0)
s.update(lambda y, *x: ((y, *x), 0.0))
