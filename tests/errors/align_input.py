# ScheduleError
# storage_align A: A is an input, it is not computed and has no loops;
# cache_read('A', ...) makes a copy that has. The stages are C

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().storage_align("A", "i", 16)
