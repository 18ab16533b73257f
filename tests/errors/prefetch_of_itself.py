# ScheduleError
# prefetch acc: acc is computed in acc.i itself; fetch what it reads

from tests.sched.workloads import dense_apart

schedule = dense_apart(9, 18, 6).schedule().compute_inline("biased").reverse_compute_at("out", "acc.i")
schedule.prefetch("acc", "acc.i")
