# ScheduleError
# transform_layout t: extern sort_rows reads t whole, as an array, and it would be laid out 'j i';
# cache_read('t', consumers=['y']) first makes a copy for it to read

from tests.sched.routines import sorted_between

sorted_between().schedule().transform_layout("t", "j i")
