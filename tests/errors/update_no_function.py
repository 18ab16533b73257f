# DefinitionError
# s.update: its first argument is a function, such as lambda i: (i, value), not 1

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(1)
