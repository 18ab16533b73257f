# ScheduleError
# cache_read B: 'C' does not read B; it is read by B_global

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_read("B", at="C.k").cache_read("B", name="again", consumers=["C"])
