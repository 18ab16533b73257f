# ScheduleError
# cache_write by: by is no output of the operator; what is read again soon belongs in the caches

from tests.sched.workloads import blur

blur(270, 350).schedule().vectorize("by.x", 8).stream("by").cache_write("by", "local", at="by.y")
