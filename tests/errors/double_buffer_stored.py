# ScheduleError
# double_buffer bx: bx is stored farther out than by.y, in one buffer that all iterations share;
# leave out store_at, or this

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "by.y").store_root("bx").double_buffer("bx")
