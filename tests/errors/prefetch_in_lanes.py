# ScheduleError
# prefetch B: the lanes of C.j run at once, so none is ahead; name a loop outside it

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().vectorize("C.j").prefetch("B", at="C.j")
