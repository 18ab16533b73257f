# ScheduleError
# cache_write C: at C.k the reduction over C.k has not ended, so C is incomplete there;
# place it at C.j or outside

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_write("C", at="C.k")
