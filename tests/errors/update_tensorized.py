# ScheduleError
# tensorize hist.u0.x: hist.u0 is an update, and intrinsics compute definitions

from tests.sched.recurrences import histogram

histogram(7, 9, 5).schedule().tensorize("hist.u0.x", "avx2.dot8x2.i16")
