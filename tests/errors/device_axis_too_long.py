# ScheduleError
# the kernel of C: threadIdx.x runs over 5000, and cuda sm_80 takes at most 1024;
# split the loop, and bind its inner half

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(5000, 300, 200)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=work.schedule().bind("C.i", "threadIdx.x"))
