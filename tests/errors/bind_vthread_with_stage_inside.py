# ScheduleError
# cache_read A: A_shared would be computed at C.i, whose iterations are virtual threads and run together; place A_shared at another loop

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().bind("C.i", "vthread").cache_read("A", "shared", at="C.i")
