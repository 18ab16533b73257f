# ScheduleError
# compute_at bxx, by.y: there is no stage 'bxx' (did you mean 'bx'?).
# The stages are bx, by

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bxx", "by.y")
