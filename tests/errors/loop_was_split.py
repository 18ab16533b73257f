# ScheduleError
# unroll C.i: C.i was split into io and ii; name one of these.
# The loops of C are io, ii, j, k

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 8).unroll("C.i")
