# DefinitionError
# constant_exterior: 0.5 is no uint8, which is what x has

import loopwright as lw

lw.constant_exterior(lw.input("x", (4, 4), "uint8"), 0.5)
