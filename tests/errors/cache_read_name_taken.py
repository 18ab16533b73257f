# ScheduleError
# cache_read B_global: 'A' is the name of a tensor already; give the copy another one with name=

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_read("B").cache_read("B_global", name="A")
