# ScheduleError
# compute_at bx, by.y: bx would be computed inside the vectorized loop by.y; place it at a loop outside y

from tests.sched.workloads import blur

blur(13, 19).schedule().vectorize("by.y").compute_at("bx", "by.y")
