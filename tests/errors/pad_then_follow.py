# ScheduleError
# pad acc.j: out reads elements of acc that are not ready at acc.i;
# each use must be acc[i, j], or one and the same reordering of these

from tests.sched.workloads import dense_apart

dense_apart(9, 18, 6).schedule().compute_inline("biased").reverse_compute_at("out", "acc.i").pad(
    "acc", "j", 16
)
