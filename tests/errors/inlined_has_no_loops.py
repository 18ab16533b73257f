# ScheduleError
# vectorize e.j: e is inlined, so it has no loops; compute_root('e') gives them back

from tests.sched.workloads import softmax

softmax(6, 11).schedule().compute_inline("e").vectorize("e.j")
