# ScheduleError
# store_root b: b is stored outside the fused loop c.f, in which two axes move; store it in that loop, or leave the loops apart

from tests.sched.stencils import two

schedule = two(12, 10).schedule().fuse("c.y", "c.x", name="f")
schedule.compute_at("b", "c.f").store_root("b")
