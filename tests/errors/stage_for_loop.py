# ScheduleError
# unroll C: 'C' is a stage; name one of its loops, such as 'C.i'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().unroll("C")
