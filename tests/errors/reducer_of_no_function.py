# DefinitionError
# lw.reducer: 3 is no function of two values

import loopwright as lw

lw.reducer(3, identity=0)
