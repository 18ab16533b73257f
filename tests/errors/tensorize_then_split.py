# ScheduleError
# split C.ki: C.ki is tensorized already; a loop has one kind, and it comes last, after split, fuse and the like

from tests.sched.test_tensorize import packed, product

packed(product(16, 32, 8), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8").split("C.ki", ("a", "b"), 2)
