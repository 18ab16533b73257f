# ScheduleError
# a GPU target: C is shared by the threads of a block, but has a buffer in each iteration of C.j, which is bound to threadIdx.x;
# set_scope('C', 'local') makes it the thread's own, or what reads it is computed outside that loop

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(500, 300, 200)
schedule = work.schedule().bind("C.i", "blockIdx.x").bind("C.j", "threadIdx.x").cache_write("C", "shared")
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
