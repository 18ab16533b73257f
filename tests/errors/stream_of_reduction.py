# ScheduleError
# stream C: C is a reduction, whose partial results are read again; cache_write gives it a buffer,
# and the copy of complete elements can be streamed

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().vectorize("C.j", 8).stream("C")
