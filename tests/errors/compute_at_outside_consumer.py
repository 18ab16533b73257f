# ScheduleError
# compute_at top, y.i: e reads top, but is computed outside y.i, where top is;
# place e inside that loop first, or top further out

from tests.sched.workloads import softmax

softmax(6, 11).schedule().compute_at("top", "y.i")
