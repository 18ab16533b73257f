# ScheduleError
# tensorize C.ji: the intrinsic 'avx2.dot8x2.i8' does not fit:
# the loops from there inwards are ji in 8, ki in 4 (reduction), and it computes i in 8, k in 2 (reduction)

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 4).tensorize("C.ji", "avx2.dot8x2.i8")
