# ScheduleError
# prefetch double: which elements of double an iteration reads depends on data, so they are not known beforehand

from tests.sched.workloads import gathered

gathered(13, 6).schedule().prefetch("double", at="g.i")
