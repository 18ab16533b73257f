# DefinitionError
# input 'W': weight='yes' is neither True nor False

import loopwright as lw

lw.input("W", (8,), weight="yes")
