# ScheduleError
# specialize 'A[0, 0] == len(A)': 'A[0, 0] == len(A)' is no condition (len(A) is not allowed in it; use ==, <, & and the like);
# it compares elements of inputs such as A[0, 0], sizes and numbers

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().specialize("A[0, 0] == len(A)", lambda s: s.unroll("C.k"))
