# ScheduleError
# cache_write bx: at='by.y' is a loop of by; the copy follows bx inside one of its own loops

from tests.sched.workloads import blur

blur(13, 19).schedule().cache_write("bx", at="by.y")
