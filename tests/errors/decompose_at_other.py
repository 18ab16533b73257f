# ScheduleError
# decompose_reduction acc: out.i is a loop of another stage; compute_at moves the new stage there

from tests.sched.workloads import dense_apart

dense_apart(9, 18, 6).schedule().decompose_reduction("acc", at="out.i")
