# ScheduleError
# unroll C.k: only a call knows how long C.k is (n); split it, and unroll the inner loop

import loopwright as lw
from tests.sched.workloads import matmul

matmul(16, 16, lw.size("n")).schedule().unroll("C.k")
