# ScheduleError
# compute_inline y: y is updated (y.u0, y.u1), so it must be stored; compute_at is possible

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().compute_inline("y")
