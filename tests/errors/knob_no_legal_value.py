# ScheduleError
# split C.i: the factor is -1; it must be at least 1
# (with t=-1; no other choice is legal either)

import loopwright as lw
from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), lw.knob("t", [0, -1]))
