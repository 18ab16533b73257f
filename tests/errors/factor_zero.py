# ScheduleError
# split C.i: the factor is 0; it must be at least 1

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 0)
