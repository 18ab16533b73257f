# ScheduleError
# split C.i: the new loops need names of their own, not 'a', 'a'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("a", "a"), 8)
