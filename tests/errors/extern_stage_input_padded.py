# ScheduleError
# pad t: extern sort_rows reads t whole, as an array, and it would be longer than the function is told;
# cache_read('t', consumers=['y']) first makes a copy for it to read

from tests.sched.routines import sorted_between

sorted_between().schedule().pad("t", "j", 8)
