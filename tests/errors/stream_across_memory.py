# ScheduleError
# stream by: the lanes of by are no part of x, along which its elements lie in memory

from tests.sched.workloads import blur

blur(270, 350).schedule().reorder("by", "x y").vectorize("by.y", 8).stream("by")
