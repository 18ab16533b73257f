"""The operators that deploy.sh builds for C."""

import loopwright as lw
from loopwright import ops

# Sizes that a call decides.
softmax = ops.softmax(lw.size("rows"), lw.size("columns", at_least=1))
