# ScheduleError
# compute_inline C: C is an output of the operator, so it must be stored

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().compute_inline("C")
