# ScheduleError
# reorder C: the last of the tiles that C.io runs over is moved inward, and inside C.k it would add to the same sums again;
# io must stand outside k, or tail='peel' leaves the tile in place

from tests.sched.workloads import matmul

schedule = matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 16, tail="shift_inward")
schedule.reorder("C", "k io ii j")
