# ScheduleError
# split C.j: two knobs are named 't', with values [4, 8] and [4, 16]; give each its own name

import loopwright as lw
from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), lw.knob("t", [4, 8])).split(
    "C.j", ("jo", "ji"), lw.knob("t", [4, 16])
)
