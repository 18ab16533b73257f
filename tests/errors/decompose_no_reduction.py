# ScheduleError
# decompose_reduction b: b has no reduction, so there is nothing to be set up before it

from tests.sched.workloads import chain

chain(7, 12).schedule().decompose_reduction("b")
