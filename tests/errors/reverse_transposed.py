# ScheduleError
# reverse_compute_at v, u.i: v reads elements of u that are not ready at u.i;
# each use must be u[i, j], or one and the same reordering of these

from tests.sched.workloads import turned

turned(8, 8).schedule().reverse_compute_at("v", "u.i")
