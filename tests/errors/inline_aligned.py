# ScheduleError
# compute_inline b: b has directives of its own, and inlining it would drop them; leave them out

from tests.sched.workloads import chain

chain(7, 12).schedule().storage_align("b", "i", 16).compute_inline("b")
