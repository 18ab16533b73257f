# ScheduleError
# two_pass C: C is no argmax or argmin, which are what can be found by value first, and then by index

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().two_pass("C")
