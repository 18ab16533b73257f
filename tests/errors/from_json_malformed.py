# ScheduleError
# split: there is no argument 'by'; it takes loop, names, factor, tail

import loopwright as lw
from tests.sched.workloads import matmul

lw.Schedule.from_json(matmul(4, 4, 4), '{"v":1,"directives":[["split",{"loop":"C.i","by":4}]]}')
