# ScheduleError
# tensorize C.ji: the intrinsic 'avx2.dot8x2.i8' does not fit:
# the tail of the split into ji puts a condition inside; peel it

from tests.sched.test_tensorize import product

work = product(16, 35, 8)
schedule = work.schedule().split("C.j", ("jo", "ji"), 8, tail="guard").split("C.k", ("ko", "ki"), 2)
schedule.reorder("C", "i jo ko ji ki").tensorize("C.ji", "avx2.dot8x2.i8")
