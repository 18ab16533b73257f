# ScheduleError
# a GPU target: no loop of C is bound, so one thread would compute it all;
# bind('C.i', 'blockIdx.x') gives its iterations to blocks

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(500, 300, 200)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=work.schedule())
