# ScheduleError
# store_root b: b is stored outside c.yi, and y does not go up in the loops yi yo;
# reorder them to yo yi, or store it farther in

from tests.sched.stencils import two

schedule = two(12, 10).schedule().split("c.y", ("yo", "yi"), 4).reorder("c", "yi yo x")
schedule.compute_at("b", "c.yo").store_root("b")
