# ScheduleError
# storage_align b: the offset 16 is none of 0 to 15, the remainders of 16

from tests.sched.workloads import chain

chain(7, 12).schedule().storage_align("b", "i", 16, 16)
