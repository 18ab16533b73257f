# ScheduleError
# cache_read B: the scope 'register' is unknown; it is one of 'global', 'local', 'shared'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_read("B", "register")
