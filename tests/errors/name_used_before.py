# ScheduleError
# fuse C.a, C.b: the name 'i' is already taken in stage C; a name is never used twice, choose another

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("a", "b"), 8).fuse("C.a", "C.b", name="i")
