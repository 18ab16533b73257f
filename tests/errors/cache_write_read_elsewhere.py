# ScheduleError
# cache_write bx: bx_local would follow bx inside its loops, and be stored there only, but by reads it outside;
# leave bx_local at root

from tests.sched.workloads import blur

blur(13, 19).schedule().cache_write("bx", at="bx.y")
