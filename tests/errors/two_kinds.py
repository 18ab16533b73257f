# ScheduleError
# unroll C.i: C.i is parallel already; a loop has one kind, and it comes last, after split, fuse and the like

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().parallel("C.i").unroll("C.i")
