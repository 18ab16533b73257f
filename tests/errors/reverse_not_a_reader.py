# ScheduleError
# reverse_compute_at out, acc.i: out does not read acc, so it cannot follow it inside its loops; name the stage it reads

from tests.sched.workloads import dense_apart

dense_apart(9, 18, 6).schedule().reverse_compute_at("out", "acc.i")
