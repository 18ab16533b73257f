# ScheduleError
# transform_layout Bp: tensorize C.ji: the intrinsic 'avx2.dot8x2.i8' does not fit:
# one step of (ji, ki) goes (8, 1) elements on in Bp, and must go (2, 1), as in its b[8, 2];
# pack Bp: cache_read, split and transform_layout put elements side by side

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8").transform_layout("Bp", "jo ji ko ki")
