# ScheduleError
# tensorize d.ji: the intrinsic 'avx2.dot8x2.i8' does not fit:
# the loops from there inwards are ji in 8, and it computes i in 8, k in 2 (reduction)

from tests.sched.workloads import chain

chain(16, 32).schedule().split("d.j", ("jo", "ji"), 8).tensorize("d.ji", "avx2.dot8x2.i8")
