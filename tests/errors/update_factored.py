# ScheduleError
# rfactor s.u0.t: s.u0 is an update, and its iterations go on from one another, in the order written;
# only one that combines s[at] with a value, by + - * min max & | ^, and reads nothing more of s, has partial results

from tests.sched.recurrences import cumsum

cumsum(4, 8, 1).schedule().rfactor("s.u0.t")
