# ScheduleError
# transform_layout C: C is an output of the operator, and is stored as the caller expects; cache_write it first

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().transform_layout("C", "j i k")
