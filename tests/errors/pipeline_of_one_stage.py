# ScheduleError
# pipeline C.k: one stage is the loop as it is; give 2 or more

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().cache_read("A", at="C.k").pipeline("C.k", stages=1)
