# ScheduleError
# compute_at Bp, C.ji: Bp would be computed inside the tensorized loop C.ji; place it at a loop outside ji

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8").compute_at("Bp", "C.ji")
