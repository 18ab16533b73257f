# ScheduleError
# unroll C.j: the body would be written out 38400 times (C.ii 128 x C.j 300), more than 4096; split, and unroll the inner loop

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 128).unroll("C.ii").unroll("C.j")
