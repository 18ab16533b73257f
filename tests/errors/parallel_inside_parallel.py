# ScheduleError
# parallel bx.x: bx.x is parallel and would run inside by.y, which is parallel too; keep one of the two

from tests.sched.workloads import blur

blur(13, 19).schedule().parallel("by.y").compute_at("bx", "by.y").parallel("bx.x")
