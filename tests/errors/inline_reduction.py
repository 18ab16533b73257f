# ScheduleError
# compute_inline total: total reduces over k, which would be done again for every use; compute_at is possible

from tests.sched.workloads import softmax

softmax(6, 11).schedule().compute_inline("total")
