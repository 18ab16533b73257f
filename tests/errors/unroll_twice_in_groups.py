# ScheduleError
# parallel C.i: C.i is the outer half of such a pair already; split it, with names of your own

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().unroll("C.i", 4).parallel("C.i", grain=2)
