# DefinitionError
# lw.update: it takes the parts of one stage of tuples, all of them in order; a stage with one value has a method: s.update(...)

import loopwright as lw

low, high = lw.compute("ends", (2,), lambda i: (0.0, 0.0))
lw.update((high,), lambda i: (i, (1.0,)))
