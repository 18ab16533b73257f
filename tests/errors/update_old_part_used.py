# DefinitionError
# ends: this is the value before its update, which is gone;
# use what update returned, for example by writing a, b = lw.update((a, b), ...)

import loopwright as lw

low, high = lw.compute("ends", (2,), lambda i: (0.0, 0.0))
lw.update((low, high), lambda i: (i, (1.0, low[i])))
lw.compute("out", (2,), lambda i: low[i])
