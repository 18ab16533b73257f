# DefinitionError
# the index `index[i]` is uint64, whose greatest values no signed type has; cast it to int64 first

import loopwright as lw

at = lw.repeat_edge(lw.input("x", (4,)))
index = lw.input("index", (4,), "uint64")
lw.compute("y", (4,), lambda i: at[index[i]])
