# ScheduleError
# prefetch bx: bx is computed inside loops, shortly before it is read, so it is in the cache already; fetch what it reads

from tests.sched.workloads import blur

blur(13, 19).schedule().compute_at("bx", "by.y").prefetch("bx", at="by.x")
