# ScheduleError
# fuse C.i, C.j: the fused loop would have 65536 x 65536 iterations, more than 1073741824; leave them apart

from tests.sched.workloads import matmul

matmul(2**16, 2**16, 4).schedule().fuse("C.i", "C.j", name="f")
