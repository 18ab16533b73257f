# ScheduleError
# split by.x: bx is computed at by.x, which would be gone; do this before compute_at('bx', 'by.x')

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "by.x").split("by.x", ("xo", "xi"), 4)
