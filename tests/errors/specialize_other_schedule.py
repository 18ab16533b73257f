# ScheduleError
# specialize 'A[0, 0] == 0': what follows in the special case is a function that adds directives to the schedule it gets,
# such as lambda s: s.vectorize('C.j', 8)

from tests.sched.workloads import matmul

work = matmul(7, 13, 5)
work.schedule().unroll("C.k").specialize("A[0, 0] == 0", lambda s: work.schedule())
