# ScheduleError
# store_root b: b is computed in the loops of c, so it is stored in one of these, or in d.y where c is computed; not at root

from tests.sched.stencils import three

three(12, 10).schedule().compute_at("c", "d.y").compute_at("b", "c.y").store_root("b")
