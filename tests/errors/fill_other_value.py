# ScheduleError
# fill: t=5 is not among the knob's values [4, 8]

import loopwright as lw
from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), lw.knob("t", [4, 8])).fill(t=5)
