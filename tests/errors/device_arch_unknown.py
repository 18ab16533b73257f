# TargetError
# target: arch 'gfx90a' is no architecture of NVIDIA's, such as 'sm_80' or 'sm_90'

import loopwright as lw
from tests.sched.workloads import matmul

lw.lower(matmul(500, 300, 200), target={"kind": "cuda", "arch": "gfx90a"})
