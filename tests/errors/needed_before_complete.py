# ScheduleError
# reverse_compute_at x, c.i: c and q would each have to be complete before the other;
# compute one of the stages between them elsewhere

from tests.sched.workloads import centred

centred(9).schedule().reverse_compute_at("r", "c.i").reverse_compute_at("x", "c.i")
