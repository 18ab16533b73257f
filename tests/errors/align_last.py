# ScheduleError
# storage_align b: j is the last dimension of b, whose elements lie side by side; choose i

from tests.sched.workloads import chain

chain(7, 12).schedule().storage_align("b", "j", 16)
