# ScheduleError
# parallel C.j: C.j stands inside C.i.v, which is vectorized; reorder, so that it is inside

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().vectorize("C.i", 8).parallel("C.j")
