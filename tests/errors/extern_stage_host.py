# ScheduleError
# compute_at t, y.i: y is computed whole, by one call of extern sort_rows, so it has no loops;
# those of what it reads and of what reads it can be scheduled

from tests.sched.routines import sorted_between

sorted_between().schedule().compute_at("t", "y.i")
