# ScheduleError
# a GPU target: bx is local, each thread has its own, but is filled by several threads, a part each;
# set_scope('bx', 'shared') makes it one for all of a block

import loopwright as lw
from tests.sched.workloads import blur

work = blur(50, 60)
schedule = work.schedule().bind("by.y", "blockIdx.x").compute_at("bx", "by.y").bind("bx.x", "threadIdx.x")
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule.set_scope("bx", "local"))
