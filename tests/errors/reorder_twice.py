# ScheduleError
# reorder C: the loop i stands twice in 'i j i'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().reorder("C", "i j i")
