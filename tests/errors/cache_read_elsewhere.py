# ScheduleError
# cache_read x: e reads x_global, but is computed outside top.i, where x_global is;
# place e inside that loop first, or x_global further out

from tests.sched.workloads import softmax

softmax(6, 11).schedule().cache_read("x", at="top.i")
