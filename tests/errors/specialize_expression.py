# ScheduleError
# specialize: a condition is a text such as 'alpha[0] == 0', not <bool expression A[0, 0] == 0>

from tests.sched.workloads import matmul

work = matmul(7, 13, 5)
work.schedule().specialize(work.inputs[0][0, 0] == 0, lambda s: s.unroll("C.k"))
