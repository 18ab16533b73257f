# ScheduleError
# reverse_compute_at total, e.i: total has a reduction of its own; only an elementwise stage can follow e inside its loops

from tests.sched.workloads import softmax

softmax(6, 11).schedule().reverse_compute_at("total", "e.i")
