# ScheduleError
# vectorize C.k: C.k is a reduction loop, whose iterations add to one element; it cannot be vectorized.
# Choose one of C.i, C.j

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().vectorize("C.k")
