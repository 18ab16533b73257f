# ScheduleError
# rfactor f.ko: affine combines its terms in the order written (commutative=False);
# partial results would be combined in another

from tests.sched.tuple_workloads import composed

composed(9, 8).schedule().split("f.k", ("ko", "ki"), 4).rfactor("f.ko")
