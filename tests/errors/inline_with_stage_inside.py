# ScheduleError
# compute_inline c: b is computed at c.i, which would be gone; compute_root('b') or compute_inline it first

from tests.sched.workloads import chain

chain(7, 12).schedule().compute_at("b", "c.i").compute_inline("c")
