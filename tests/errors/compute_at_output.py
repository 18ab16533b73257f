# ScheduleError
# compute_at by, bx.y: by is an output of the operator, so it is computed whole, at root

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("by", "bx.y")
