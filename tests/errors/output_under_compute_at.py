# ScheduleError
# compute_at rows, total.z: rows_local is an output, and would be computed with rows inside total.z; leave rows at root

from tests.sched.workloads import stats

stats(6, 7).schedule().cache_write("rows").compute_at("rows", "total.z")
