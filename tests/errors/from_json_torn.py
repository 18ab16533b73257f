# ScheduleError
# schedule JSON: this is no JSON (Unterminated string starting at: line 1 column 23 (char 22))

import loopwright as lw
from tests.sched.workloads import matmul

lw.Schedule.from_json(matmul(4, 4, 4), '{"v":1,"directives":[["spl')
