# DefinitionError
# s: this is the value before its update, which is gone;
# use what update returned, for example by writing s = s.update(...)

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda i: (i, s[i] + 1))
s.update(lambda i: (i, s[i] * 2))
