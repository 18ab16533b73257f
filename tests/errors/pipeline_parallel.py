# ScheduleError
# pipeline C.i: C.i is parallel already; a loop has one kind, and it comes last, after split, fuse and the like

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().cache_read("A", at="C.i").parallel("C.i").pipeline("C.i")
