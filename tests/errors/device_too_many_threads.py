# ScheduleError
# the kernel of C: a block would have 2048 threads (32 of threadIdx.x x 64 of threadIdx.y), and cuda sm_80 takes at most 1024;
# split with smaller factors

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(500, 300, 200)
schedule = work.schedule().tile("C", i=("io", "ii", 64), j=("jo", "ji", 32)).bind("C.io", "blockIdx.x")
schedule = schedule.bind("C.ii", "threadIdx.y").bind("C.ji", "threadIdx.x")
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
