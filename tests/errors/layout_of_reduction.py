# ScheduleError
# transform_layout acc: acc reduces over k, so its loops are not its elements; cache_write it, and lay out the copy

from tests.sched.workloads import dense_apart

dense_apart(9, 18, 6).schedule().transform_layout("acc", "j i k")
