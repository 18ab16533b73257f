# ScheduleError
# split C.i: the factor 2147483648 is too large; at most 1073741824 makes sense

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 2**31)
