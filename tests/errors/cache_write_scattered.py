# ScheduleError
# cache_write C: one iteration of C.ii computes scattered elements of C, not a contiguous block;
# place C_local where both halves of a split are inside (or the outer half is outside), and all of a fused loop or none

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 8).reorder("C", "ii io j k").cache_write(
    "C", at="C.ii"
)
