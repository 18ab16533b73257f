# ScheduleError
# specialize 'A[0, 0] + 1': 'A[0, 0] + 1' is not true or false; compare it with something

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().specialize("A[0, 0] + 1", lambda s: s.unroll("C.k"))
