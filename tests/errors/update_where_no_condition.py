# DefinitionError
# s.update: where= is `i`, which is int32, not bool; compare it, for example with != 0

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda i: (i, 0.0), where=lambda i: i)
