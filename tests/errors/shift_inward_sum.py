# ScheduleError
# split C.k: moved inward, the last tile of C.k would take terms of the sum for a second time;
# tail='peel' or 'guard' takes each once

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().split("C.k", ("ko", "ki"), 16, tail="shift_inward")
