# ScheduleError
# vectorize C.j: C.i.v is vectorized already, and a stage has one vectorized loop; unroll this one

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().vectorize("C.i", 4).vectorize("C.j", 8)
