# ScheduleError
# storage_align t: extern sort_rows reads t whole, as an array, and it would have gaps between its rows;
# cache_read('t', consumers=['y']) first makes a copy for it to read

from tests.sched.routines import sorted_between

sorted_between().schedule().storage_align("t", "i", 16)
