# ScheduleError
# transform_layout acc: k is a loop of the reduction, which goes through the terms of one element; leave it out

from tests.sched.workloads import dense_apart

dense_apart(9, 18, 6).schedule().transform_layout("acc", "j i k")
