# ScheduleError
# compute_at y.u0, out.r: y.u0 is an update, computed right after y wherever that is; place y, and its updates go with it

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().compute_at("y.u0", "out.r")
