# ScheduleError
# reverse_compute_at by, bx.y: by reads elements of bx that are not ready at bx.y;
# each use must be bx[y, x], or one and the same reordering of these

from tests.sched.workloads import blur

blur(13, 19).schedule().reverse_compute_at("by", "bx.y")
