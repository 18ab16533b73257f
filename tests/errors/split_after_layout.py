# ScheduleError
# split B_global.j: the layout of B_global is 'j k', so j must stay; do this before transform_layout

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_read("B").transform_layout("B_global", "j k").split(
    "B_global.j", ("jo", "ji"), 8
)
