# ScheduleError
# prefetch D: there is no tensor 'D'; there are A, B, C

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().prefetch("D", at="C.i")
