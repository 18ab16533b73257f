# ScheduleError
# split C.i: A is fetched ahead in that loop, which would be gone; prefetch comes after this

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().prefetch("A", at="C.i").split("C.i", ("io", "ii"), 4)
