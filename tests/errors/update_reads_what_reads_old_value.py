# DefinitionError
# s.update: it reads twice, which is computed from s as it was before;
# only the update itself can read that: write twice's formula into it

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
twice = lw.compute("twice", (8,), lambda i: s[i] * 2)
s.update(lambda i: (i, twice[i]))
