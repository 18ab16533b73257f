# DefinitionError
# input 'B': a weight is packed before any call says how long its dimensions are; its sizes are numbers

import loopwright as lw
from loopwright import ops

ops.matmul(M=8, N=lw.size("N"), K=8, weights="B")
