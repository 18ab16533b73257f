# ScheduleError
# reverse_compute_at out, y.u1.r: y is complete only when its updates have run, so no stage can follow it inside its loops;
# compute_at('y', a loop of out) brings the two together

from tests.sched.recurrences import filtered

filtered(6, 11).schedule().reverse_compute_at("out", "y.u1.r")
