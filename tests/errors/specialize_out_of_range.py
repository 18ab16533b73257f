# ScheduleError
# specialize 'A[7, 0] == 0': 'A[7, 0] == 0' is no condition (the index 7 may be outside A[7, 5]);
# it compares elements of inputs such as A[0, 0], sizes and numbers

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().specialize("A[7, 0] == 0", lambda s: s.unroll("C.k"))
