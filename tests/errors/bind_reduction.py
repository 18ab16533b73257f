# ScheduleError
# bind C.k: C.k is a reduction loop, whose iterations add to one element; it cannot be bound to threadIdx.x.
# Choose one of C.i, C.j

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().bind("C.k", "threadIdx.x")
