# ScheduleError
# reorder y: y is computed whole, by one call of extern sort_rows, so it has no loops;
# those of what it reads and of what reads it can be scheduled

from tests.sched.routines import sorted_between

sorted_between().schedule().reorder("y", "j i")
