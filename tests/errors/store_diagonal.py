# ScheduleError
# store_root b: no iteration would find a part of b that those before it left behind;
# c.y moves its region in y, x, in no one direction that is known

from tests.sched.stencils import diagonal

diagonal(12, 10).schedule().compute_at("b", "c.y").store_root("b")
