# ScheduleError
# transform_layout b: b is stored nowhere else, so there is no copy to be called 'packed'; leave out name=

from tests.sched.workloads import chain

chain(7, 12).schedule().transform_layout("b", "j i", name="packed")
