# DefinitionError
# constant_exterior: 256 is outside uint8's 0..255

import loopwright as lw

lw.constant_exterior(lw.input("x", (4, 4), "uint8"), 256)
