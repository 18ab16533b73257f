# ScheduleError
# tensorize C.ji: the intrinsic 'avx2.dot8x2.i8' does not fit:
# here `A[i, ko * 2 + ki]` (int32) stands where it has `int32(a[k])` (int32)

from tests.sched.workloads import matmul

work = matmul(16, 32, 8, "int32")
schedule = (
    work.schedule().split("C.j", ("jo", "ji"), 8).split("C.k", ("ko", "ki"), 2).reorder("C", "i jo ko ji ki")
)
schedule.tensorize("C.ji", "avx2.dot8x2.i8")
