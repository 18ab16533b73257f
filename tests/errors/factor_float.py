# ScheduleError
# split C.i: factor=8.0 is no integer, text or knob

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 8.0)
