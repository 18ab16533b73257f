# ScheduleError
# the kernel of C: its shared buffers have 102400 bytes (A_shared 102400), and a block of cuda sm_80 has 49152;
# make the tiles smaller

import loopwright as lw
from tests.sched.workloads import matmul

work = matmul(500, 300, 200)
schedule = (
    work.schedule().split("C.i", ("io", "ii"), 128).bind("C.io", "blockIdx.x").bind("C.ii", "threadIdx.x")
)
lw.lower(
    work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule.cache_read("A", "shared", at="C.io")
)
