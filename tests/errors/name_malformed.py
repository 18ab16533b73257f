# ScheduleError
# split C.i: 'i.o' is no name for a loop; use letters, digits and _, starting with a letter

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("i.o", "ii"), 8)
