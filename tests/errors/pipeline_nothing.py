# ScheduleError
# pipeline C.k: no stage is computed at C.k, so there is nothing to do ahead of it;
# compute_at or cache_read(..., at='C.k') comes first

from tests.sched.workloads import matmul

matmul(7, 13, 5).schedule().pipeline("C.k")
