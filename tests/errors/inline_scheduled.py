# ScheduleError
# compute_inline e: e has directives of its own, and inlining it would drop them; leave them out

from tests.sched.workloads import softmax

softmax(6, 11).schedule().split("e.j", ("jo", "ji"), 4).compute_inline("e")
