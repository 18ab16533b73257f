# ScheduleError
# vectorize C.jo: the last of the tiles that C.jo runs over is moved inward, and inside C.k it would add to the same sums again;
# jo must stand outside k, or tail='peel' leaves the tile in place

from tests.sched.workloads import matmul

schedule = matmul(500, 300, 200).schedule().split("C.j", ("jo", "ji"), 64, tail="shift_inward")
schedule.vectorize("C.jo")
