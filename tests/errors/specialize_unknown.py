# ScheduleError
# specialize 'alpha[0] == 0': 'alpha[0] == 0' is no condition (alpha is unknown);
# it compares elements of inputs such as A[0, 0], sizes and numbers

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().specialize("alpha[0] == 0", lambda s: s.unroll("C.k"))
