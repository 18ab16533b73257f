# ScheduleError
# reorder C: C has no loop 'm'.
# The loops of C are i, j, k

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().reorder("C", "i m j")
