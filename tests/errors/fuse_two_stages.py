# ScheduleError
# fuse bx.y, by.y: the loops belong to two stages, bx and by; fuse loops of one

from tests.sched.workloads import blur

blur(13, 19).schedule().fuse("bx.y", "by.y", name="f")
