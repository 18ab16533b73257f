# ScheduleError
# tensorize C.ji: the intrinsic 'avx2.dot8x2.i8' does not fit:
# one step of (ji, ki) goes (1, 32) elements on in B, and must go (2, 1), as in its b[8, 2];
# pack B: cache_read, split and transform_layout put elements side by side

from tests.sched.test_tensorize import product

work = product(16, 32, 8)
schedule = (
    work.schedule().split("C.j", ("jo", "ji"), 8).split("C.k", ("ko", "ki"), 2).reorder("C", "i jo ko ji ki")
)
schedule.tensorize("C.ji", "avx2.dot8x2.i8")
