# ScheduleError
# double_buffer bx: bx is not computed inside a loop, so there are no iterations for its buffers to take turns in;
# compute_at comes first

from tests.sched.workloads import blur

blur(13, 19).schedule().double_buffer("bx")
