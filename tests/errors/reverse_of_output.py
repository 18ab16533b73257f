# ScheduleError
# reverse_compute_at shifted, rows.r: rows is an output, and stored whole;
# only what is not an output can be completed inside its loops

from tests.sched.workloads import stats

stats(6, 7).schedule().reverse_compute_at("shifted", "rows.r")
