# ScheduleError
# parallel C.ko: C.ko is a reduction loop, whose iterations add to one element; it cannot be parallel.
# Choose one of C.i, C.j

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.k", ("ko", "ki"), 8).parallel("C.ko")
