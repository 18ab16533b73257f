# ScheduleError
# a GPU target: bx is computed inside a kernel, and so is not in global memory;
# set_scope('bx', 'shared') keeps it in the block

import loopwright as lw
from tests.sched.workloads import blur

work = blur(50, 60)
schedule = work.schedule().bind("by.y", "blockIdx.x").compute_at("bx", "by.y")
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
