# ScheduleError
# double_buffer bx: bx_local follows bx inside its loops, and would have one buffer only; place it elsewhere

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "by.y").cache_write("bx", at="bx.y").double_buffer("bx")
