# ScheduleError
# stream bx: bx is no output of the operator; what is read again soon belongs in the caches

from tests.sched.workloads import blur

blur(270, 350).schedule().vectorize("bx.x", 8).stream("bx")
