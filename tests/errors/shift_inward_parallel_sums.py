# ScheduleError
# parallel C.io: the last of the tiles that C.io runs over is moved inward, and another thread may be at the same sums;
# tail='peel' leaves the tile in place

from tests.sched.workloads import matmul

schedule = matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 16, tail="shift_inward")
schedule.parallel("C.io")
