# ScheduleError
# storage_align C: C is an output of the operator, and is stored as the caller expects; cache_write gives it a buffer

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().storage_align("C", "i", 16)
