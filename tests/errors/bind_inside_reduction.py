# ScheduleError
# bind C.j: C.j is bound to threadIdx.x and would stand inside the reduction loop C.k;
# reorder, so that it is outside

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().reorder("C", "i k j").bind("C.j", "threadIdx.x")
