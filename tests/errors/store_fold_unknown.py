# ScheduleError
# store_root b: fold= is True, False or a knob, not 4

from tests.sched.stencils import two

two(12, 10).schedule().compute_at("b", "c.y").store_root("b", fold=4)
