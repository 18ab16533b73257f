# ScheduleError
# fuse C.j, C.i: i does not stand right inside j: the order is 'i j k'; reorder first

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().fuse("C.j", "C.i", name="f")
