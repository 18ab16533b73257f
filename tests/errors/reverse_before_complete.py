# ScheduleError
# reverse_compute_at biased, acc.k: at acc.k the reduction over acc.k has not ended, so acc is incomplete there;
# place it at acc.j or outside

from tests.sched.workloads import dense_apart

dense_apart(9, 18, 6).schedule().reverse_compute_at("biased", "acc.k")
