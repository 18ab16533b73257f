# ScheduleError
# compute_inline summary: summary is an output of the operator, so it must be stored

from tests.sched.tuple_workloads import summary

summary(7, 9).schedule().compute_inline("summary")
