# ScheduleError
# unroll C.j: the body, written out 1024 times (C.i 32 x C.j 32), would come to 110592 operations, more than 32000, and compile for minutes;
# split, and unroll the inner loop

from tests.sched.workloads import matmul

matmul(32, 32, 200).schedule().unroll("C.i").unroll("C.j")
