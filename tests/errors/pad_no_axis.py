# ScheduleError
# pad C.ko: C has no axis 'ko'; its axes are i, j, k

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.k", ("ko", "ki"), 8).pad("C", "ko", 16)
