# ScheduleError
# compute_root A_global: no stage is computed at C.k, so there is nothing to do ahead of it;
# compute_at or cache_read(..., at='C.k') comes first

from tests.sched.workloads import matmul

schedule = matmul(7, 13, 5).schedule().cache_read("A", at="C.k").pipeline("C.k")
schedule.compute_root("A_global")
