# ScheduleError
# store_root b: b is inlined; compute_root('b') makes it a stage again

from tests.sched.stencils import two

two(12, 10).schedule().compute_inline("b").store_root("b")
