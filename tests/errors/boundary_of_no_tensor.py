# DefinitionError
# mirror_image takes an input or a stage, not Load <float32 expression x[i, j]>; it is then read as at[y, x]

import loopwright as lw

x = lw.input("x", (4, 4))
lw.mirror_image(lw.compute("y", (2, 2), lambda i, j: x[i, j]).body)
