# ScheduleError
# tensorize C.ji: the intrinsic 'avx2.dot8x2.i16' does not fit:
# A is int8, its a is int16

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2.i16")
