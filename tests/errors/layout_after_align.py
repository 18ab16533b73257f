# ScheduleError
# transform_layout b: the rows of b over i are aligned; do this before storage_align

from tests.sched.workloads import chain

chain(7, 12).schedule().storage_align("b", "i", 16).transform_layout("b", "j i")
