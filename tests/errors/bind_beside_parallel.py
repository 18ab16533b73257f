# ScheduleError
# bind C.j: C.i is parallel, on the cores of a CPU, and C.j is bound to threadIdx.x of a GPU; keep one of the two

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().parallel("C.i").bind("C.j", "threadIdx.x")
