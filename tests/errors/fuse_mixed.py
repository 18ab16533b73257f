# ScheduleError
# fuse C.j, C.k: C.k is a reduction loop and C.j is not; fuse loops of one sort

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().fuse("C.j", "C.k", name="f")
