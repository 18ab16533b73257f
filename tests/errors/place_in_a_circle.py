# ScheduleError
# compute_at u, v.i: u would stand inside its own loops (by way of v)

from tests.sched.workloads import turned

turned(6, 9).schedule().reverse_compute_at("v", "u.i").compute_at("u", "v.i")
