# ScheduleError
# double_buffer bx: the iterations of by.y run in parallel and have buffers of their own; place bx at a serial loop

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "by.y").parallel("by.y").double_buffer("bx")
