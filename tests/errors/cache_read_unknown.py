# ScheduleError
# cache_read D: there is no tensor 'D'; there are A, B, C

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_read("D")
