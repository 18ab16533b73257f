# ScheduleError
# set_scope y.u0: y.u0 is an update, and writes into the buffer of its definition; name that one

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().set_scope("y.u0", "local")
