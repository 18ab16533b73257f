# ScheduleError
# decompose_reduction C: C.j is not outside the loops of the reduction, which would start again and again; choose C.i

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.k", ("ko", "ki"), 8).reorder("C", "i ko j ki").decompose_reduction(
    "C", at="C.j"
)
