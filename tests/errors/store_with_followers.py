# ScheduleError
# store_root b: b_local follows b inside its loops and is stored where b is computed; a stage stored farther out has no followers

from tests.sched.stencils import two

schedule = two(12, 10).schedule().cache_write("b", "local", at="b.y")
schedule.compute_at("b", "c.y").store_root("b")
