# ScheduleError
# rfactor s.u0.i: s.u0.i is no loop of the domain, its iterations are independent as they are; choose one of s.u0.k

from tests.sched.recurrences import upper_sum

upper_sum(7, 9).schedule().rfactor("s.u0.i")
