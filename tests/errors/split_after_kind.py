# ScheduleError
# split C.j: C.j is vectorized already; a loop has one kind, and it comes last, after split, fuse and the like

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().vectorize("C.j").split("C.j", ("jo", "ji"), 8)
