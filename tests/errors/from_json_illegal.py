# ScheduleError
# unroll D.i: there is no stage 'D'.
# The stages are C

import loopwright as lw
from tests.sched.workloads import matmul

lw.Schedule.from_json(matmul(4, 4, 4), '{"v":1,"directives":[["unroll",{"loop":"D.i"}]]}')
