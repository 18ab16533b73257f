# ScheduleError
# vectorize C.j: only a call knows how long the loop is (n), and a vector has a fixed length;
# vectorize('C.j', 8) takes it in pieces

import loopwright as lw
from tests.sched.workloads import matmul

matmul(16, lw.size("n"), 16).schedule().vectorize("C.j")
