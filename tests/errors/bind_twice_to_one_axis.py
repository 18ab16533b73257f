# ScheduleError
# bind C.j: C.i is bound to threadIdx.x already, and of two nested loops on one axis only equal iterations would run;
# choose another axis, or fuse the two loops and bind that one

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().bind("C.i", "threadIdx.x").bind("C.j", "threadIdx.x")
