# ScheduleError
# clone y: y is updated (y.u0, y.u1), and its clone would not be; cache_read copies the result

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().clone("y", ["out"])
