# ScheduleError
# split c.y: b is stored at c.y, which would be gone; do this before store_at('b', 'c.y')

from tests.sched.stencils import two

two(12, 10).schedule().compute_at("b", "c.x").store_at("b", "c.y").split("c.y", ("yo", "yi"), 4)
