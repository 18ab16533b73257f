# ScheduleError
# split C.i: the factor True is no integer; give one of at least 1, or a knob

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), True)
