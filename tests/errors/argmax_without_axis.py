# DefinitionError
# lw.argmax: over= takes reduction axes, such as k = lw.reduce_axis('k', K)

import loopwright as lw

x = lw.input("x", (4,))
lw.compute("best", (4,), lambda i: lw.argmax(x[i], over=i))
