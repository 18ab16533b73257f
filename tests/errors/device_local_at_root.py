# ScheduleError
# a GPU target: bx is computed at root, by a kernel of its own, and what that leaves in local memory is gone;
# set_scope('bx', 'global'), or compute it inside the loops of what reads it

import loopwright as lw
from tests.sched.workloads import blur

work = blur(50, 60)
schedule = work.schedule().bind("by.y", "blockIdx.x").bind("bx.y", "blockIdx.x").set_scope("bx", "local")
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
