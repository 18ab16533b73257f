# ScheduleError
# reorder f: affine combines its terms in the order written (commutative=False);
# the reduction loops of f stay in the order ko ki

from tests.sched.tuple_workloads import composed

composed(9, 8).schedule().split("f.k", ("ko", "ki"), 4).reorder("f", "ki ko")
