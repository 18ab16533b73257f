# ScheduleError
# tensorize C.ji: C.io is vectorized, and so runs innermost, where the intrinsic is to stand; leave it as it is, or unroll it

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).vectorize("C.io").tensorize("C.ji", "avx2.dot8x2.i8")
