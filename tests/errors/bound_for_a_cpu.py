# ScheduleError
# C.i is bound to blockIdx.x, which a GPU has and target 'cpu' has not;
# build for 'opencl', or use parallel

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(500, 300, 200)
lw.lower(work, target="cpu", schedule=work.schedule().bind("C.i", "blockIdx.x"))
