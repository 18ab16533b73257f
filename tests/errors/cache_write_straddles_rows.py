# ScheduleError
# cache_write C: one iteration of C.fo computes scattered elements of C, not a contiguous block;
# place C_local where both halves of a split are inside (or the outer half is outside), and all of a fused loop or none

from tests.sched.workloads import matmul

matmul(28, 28, 5).schedule().fuse("C.i", "C.j", name="f").split("C.f", ("fo", "fi"), 8).cache_write(
    "C", at="C.fo"
)
