# ScheduleError
# cache_read y.u0: y.u0 is updated further, by y.u1; its values in between have no readers.
# Name y to copy the result

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().cache_read("y.u0", "local")
