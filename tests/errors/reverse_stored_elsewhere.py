# ScheduleError
# reverse_compute_at t, s.i: u reads s as well, which t completes inside its loops; s is not stored beyond them.
# Leave t at root

from tests.sched.workloads import residual

residual(11, 5).schedule().reverse_compute_at("t", "s.i")
