# ScheduleError
# reorder C: the loops ji ki of C are tensorized, and stay innermost, in this order; do this before tensorize

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8").reorder("C", "ji jo")
