# ScheduleError
# split C.i: the name 'j' is already taken in stage C; a name is never used twice, choose another

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("j", "ii"), 8)
