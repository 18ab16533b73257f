# ScheduleError
# unroll C.j: the body, written out 4096 times (C.i 64 x C.j 64), would come to 98304 operations, more than 32000, and compile for minutes;
# split, and unroll the inner loop

from tests.sched.workloads import matmul

matmul(64, 64, 200).schedule().unroll("C.i").unroll("C.j")
