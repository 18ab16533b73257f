# ScheduleError
# split C.l: C has no loop 'l'.
# The loops of C are i, j, k

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.l", ("io", "ii"), 8)
