# DefinitionError
# s.update: the function names its axes one by one, such as lambda y, x: ...

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda *i: (i, 0.0))
