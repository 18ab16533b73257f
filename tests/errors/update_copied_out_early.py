# ScheduleError
# cache_write y: y is updated (y.u0, y.u1), so the copy comes after all of that; leave out at=

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().cache_write("y", at="y.r")
