# ScheduleError
# parallel by.y: bx.x is parallel and would run inside by.y, which is parallel too; keep one of the two

from tests.sched.workloads import blur

blur(13, 19).schedule().parallel("bx.x").compute_at("bx", "by.y").parallel("by.y")
