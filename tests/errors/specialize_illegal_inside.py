# ScheduleError
# parallel C.k: C.k is a reduction loop, whose iterations add to one element; it cannot be parallel.
# Choose one of C.i, C.j

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().specialize("A[0, 0] == 0", lambda s: s.parallel("C.k"))
