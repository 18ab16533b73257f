# ScheduleError
# parallel C.j: C.j stands inside C.i, which is parallel already; fuse the two

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().parallel("C.i").parallel("C.j")
