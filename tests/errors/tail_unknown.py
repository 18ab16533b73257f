# ScheduleError
# split C.i: tail='clamp' is unknown; it is one of 'auto', 'guard', 'peel', 'pad', 'shift_inward'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.i", ("io", "ii"), 8, tail="clamp")
