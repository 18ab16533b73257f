# ScheduleError
# a GPU target: y has parallel, which is for CPUs; leave it out

import loopwright as lw
from tests.sched.workloads import softmax

work = softmax(50, 60)
lw.lower(
    work,
    target={"kind": "cuda", "arch": "sm_80"},
    schedule=work.schedule().bind("top.i", "blockIdx.x").parallel("y.i"),
)
