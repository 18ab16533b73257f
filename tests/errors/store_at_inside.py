# ScheduleError
# store_at b, c.x: b is computed at c.y and stored in c.x, which is not outside it;
# name a loop farther out, or none with store_root('b')

from tests.sched.stencils import two

two(12, 10).schedule().compute_at("b", "c.y").store_at("b", "c.x")
