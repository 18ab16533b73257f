# DefinitionError
# x has 2 dimensions (4, 4), but 1 indices were given

import loopwright as lw

at = lw.repeat_edge(lw.input("x", (4, 4)))
lw.compute("y", (4,), lambda i: at[i - 1])
