# ScheduleError
# split C.i: it needs names for 2 loops, such as ('io', 'ii'), not 'io'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", "io", 8)
