# ScheduleError
# fuse C.i, C.k: k does not stand right inside i: the order is 'i j k'; reorder first

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().fuse("C.i", "C.k", name="f")
