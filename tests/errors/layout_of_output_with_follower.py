# ScheduleError
# transform_layout ends: whole does not read ends, so it cannot follow it inside its loops; name the stage it reads

from tests.sched.tuple_workloads import halves

halves(6, 11).schedule().reverse_compute_at("whole", "ends.j").transform_layout("ends", "j i")
