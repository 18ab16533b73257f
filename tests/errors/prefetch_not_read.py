# ScheduleError
# prefetch img: nothing inside by.y reads img

from tests.sched.workloads import blur

blur(13, 19).schedule().prefetch("img", at="by.y")
