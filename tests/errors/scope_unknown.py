# ScheduleError
# set_scope b: the scope 'texture' is unknown; it is one of 'global', 'local', 'shared'

from tests.sched.workloads import chain

chain(7, 12).schedule().set_scope("b", "texture")
