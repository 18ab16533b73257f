# ScheduleError
# store_root y: y is updated (y.u0, y.u1), so its buffer lives where it is computed:
# what one iteration leaves would be updated again

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().compute_at("y", "out.r").store_root("y")
