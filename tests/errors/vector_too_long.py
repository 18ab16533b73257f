# ScheduleError
# vectorize C.j: the loop is 5000 long, too much for one vector; vectorize('C.j', 16) takes it in pieces

from tests.sched.workloads import matmul

matmul(16, 5000, 16).schedule().vectorize("C.j")
