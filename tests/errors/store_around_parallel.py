# ScheduleError
# store_root b: the iterations of c.y run in parallel and would share the buffer of b, which is stored outside;
# store it in that loop

from tests.sched.stencils import two

two(12, 10).schedule().compute_at("b", "c.y").parallel("c.y").store_root("b")
