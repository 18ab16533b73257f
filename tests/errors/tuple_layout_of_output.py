# ScheduleError
# transform_layout ends: ends is an output of the operator, and is stored as the caller expects; cache_write it first

from tests.sched.tuple_workloads import halves

halves(6, 11).schedule().transform_layout("ends", "j i")
