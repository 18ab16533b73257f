# ScheduleError
# fill: there is no knob 'u'; the knobs are t

import loopwright as lw
from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), lw.knob("t", [4, 8])).fill(t=4, u=1)
