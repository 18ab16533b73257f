# ScheduleError
# parallel C.i: C.i was fused into f; name that one.
# The loops of C are f, k

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().fuse("C.i", "C.j", name="f").parallel("C.i")
