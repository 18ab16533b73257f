# TargetError
# kernels for metal are made as source here, and not run: lw.lower(work, target='metal').source()

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(500, 300, 200)
lw.build(work, target="metal", schedule=work.schedule().bind("C.i", "blockIdx.x"))
