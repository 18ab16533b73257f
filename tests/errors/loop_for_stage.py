# ScheduleError
# reorder C.i: 'C.i' is a loop; here stands the name of a stage, such as 'C'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().reorder("C.i", "j i")
