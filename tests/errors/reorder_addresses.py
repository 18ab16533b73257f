# ScheduleError
# reorder C: write 'j' for 'C.j'; the stage is given already

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().reorder("C", "C.j C.i")
