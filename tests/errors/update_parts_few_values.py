# DefinitionError
# ends.update: the elements of ends have 2 parts, so the value is a tuple of 2

import loopwright as lw

low, high = lw.compute("ends", (2,), lambda i: (0.0, 0.0))
lw.update((low, high), lambda i: (i, 1.0))
