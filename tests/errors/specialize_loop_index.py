# ScheduleError
# specialize 'A[i, 0] == 0': 'A[i, 0] == 0' is no condition (the index i is no number);
# it compares elements of inputs such as A[0, 0], sizes and numbers

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().specialize("A[i, 0] == 0", lambda s: s.unroll("C.k"))
