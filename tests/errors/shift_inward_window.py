# ScheduleError
# store_root bx: bx is kept from one iteration of by.yo to the next, and the last, moved inward, would go back;
# tail='peel' leaves it in place

from tests.sched.workloads import blur

schedule = blur(270, 350).schedule().split("by.y", ("yo", "yi"), 32, tail="shift_inward")
schedule.compute_at("bx", "by.yi").store_root("bx")
