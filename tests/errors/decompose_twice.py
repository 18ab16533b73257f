# ScheduleError
# decompose_reduction C: C starts from C_init already

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().decompose_reduction("C").decompose_reduction("C", name="again")
