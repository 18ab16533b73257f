# ScheduleError
# prepack Bp: Bp cannot be computed before any call: its size, or that of what it depends on, is not known before a call

import loopwright as lw
from loopwright import ops

ops.matmul(M=8, N=lw.size("N"), K=8, weights="B").schedule().cache_read("B", name="Bp").prepack("Bp")
