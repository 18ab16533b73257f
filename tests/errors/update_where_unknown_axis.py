# DefinitionError
# s.update: the function where= takes j, but the update's own axes are i

import loopwright as lw

s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda i: (i, 0.0), where=lambda j: j > 0)
