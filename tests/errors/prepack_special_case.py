# ScheduleError
# specialize M >= 16: weights are packed once for all calls, so a kernel that has them packed has no special cases

import loopwright as lw
from loopwright import ops

schedule = (
    ops.matmul(M=lw.size("M"), N=8, K=8, weights="B").schedule().cache_read("B", name="Bp").prepack("Bp")
)
schedule.specialize("M >= 16", lambda s: s.vectorize("C.j", 8))
