# ScheduleError
# compute_inline y: y is computed whole, by one call of extern sort_rows, at root, where the function expects it;
# cache_read('y') makes a copy that can be placed and laid out

from tests.sched.routines import sorted_between

sorted_between().schedule().compute_inline("y")
