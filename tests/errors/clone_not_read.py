# ScheduleError
# clone C: 'C' does not read C; it is read by nothing

from tests.sched.workloads import matmul

matmul(8, 8, 8).schedule().clone("C", ["C"])
