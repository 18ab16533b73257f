# DefinitionError
# ends.0 is one part of the tuples of ends, which are updated together: lw.update((ends.0, ends.1), ...)

import loopwright as lw

low, high = lw.compute("ends", (2,), lambda i: (0.0, 0.0))
low.update(lambda old: old - 1, at=0)
