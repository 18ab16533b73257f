# ScheduleError
# tensorize C.ji: there is no intrinsic 'avx2.dot8x2' (did you mean 'avx2.dot8x2.i8'?);
# lw.intrinsics() has the names of all, lw.intrinsic registers one

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2")
