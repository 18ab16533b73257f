# ScheduleError
# rfactor C.j: C.j is no loop of a reduction, so there is nothing to take apart; choose one of C.ko, C.ki

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.k", ("ko", "ki"), 8).rfactor("C.j")
