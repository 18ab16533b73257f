# ScheduleError
# store_at b, c.y: b is stored in c.y, so it must be computed inside a loop of a stage that reads it;
# compute_at comes first, compute_root drops the storage

from tests.sched.stencils import two

two(12, 10).schedule().store_at("b", "c.y")
