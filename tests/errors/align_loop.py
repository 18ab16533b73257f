# ScheduleError
# storage_align b: b is not stored by 'io'; its buffer has the dimensions i, j

from tests.sched.workloads import chain

chain(7, 12).schedule().split("b.i", ("io", "ii"), 4).storage_align("b", "io", 16)
