# DefinitionError
# repeat_image: x has no dimension 2; its shape is (4, 4), so they are 0 to 1

import loopwright as lw

lw.repeat_image(lw.input("x", (4, 4)), dims=(0, 2))
