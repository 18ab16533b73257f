# ScheduleError
# compute_at summary, shifted.i: summary is an output of the operator, so it is computed whole, at root

from tests.sched.tuple_workloads import summary

summary(7, 9).schedule().compute_at("summary", "shifted.i")
