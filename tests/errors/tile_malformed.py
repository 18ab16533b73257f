# ScheduleError
# tile C: i= takes (outer, inner, factor), such as ('io', 'ii', 8), not 8

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().tile("C", i=8)
