# DefinitionError
# stage 'm': the function gives an empty tuple; give an expression for each part

import loopwright as lw

lw.compute("m", (4,), lambda i: ())
