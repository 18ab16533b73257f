# ScheduleError
# pad C.j: C is an output of the operator, whose shape the caller expects; tail='pad' pads its accumulators

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().pad("C", "j", 16)
