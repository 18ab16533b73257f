# ScheduleError
# stream by: no loop of by is vectorized, and only whole vectors are streamed; vectorize comes first

from tests.sched.workloads import blur

blur(270, 350).schedule().stream("by")
