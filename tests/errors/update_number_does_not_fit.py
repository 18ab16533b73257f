# DefinitionError
# s.update: the number 0.5 does not fit the int32 expression `s[i]`;
# cast it first, for example lw.cast('float32', s[i])

import loopwright as lw

s = lw.compute("s", (8,), lambda i: i)
s.update(lambda i: (i, 0.5))
