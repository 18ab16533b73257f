# ScheduleError
# compute_at bx, bx.y: bx cannot be computed inside its own loops; name a loop of another stage

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "bx.y")
