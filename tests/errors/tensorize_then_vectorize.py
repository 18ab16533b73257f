# ScheduleError
# vectorize C.io: C.ji is tensorized already, and a stage has one vectorized loop; unroll this one

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8").vectorize("C.io")
