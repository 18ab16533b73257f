# ScheduleError
# compute_at b, c.i: b is inlined; compute_root('b') makes it a stage again

from tests.sched.workloads import chain

chain(7, 12).schedule().compute_inline("b").compute_at("b", "c.i")
