# ScheduleError
# set_scope C: C is an output of the operator, and lies where the caller says; cache_write gives it a buffer

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().set_scope("C", "local")
