# ScheduleError
# reorder by: bx would be computed inside the vectorized loop by.x; place it at a loop outside x

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "by.y").vectorize("by.x").reorder("by", "x y")
