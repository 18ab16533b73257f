# ScheduleError
# tile C: no loops are given; write tile('C', i=('io', 'ii', 8), ...)

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().tile("C")
