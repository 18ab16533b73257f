# ScheduleError
# transform_layout B_global: 'jo ji' leaves out k; all loops over the elements of B_global are needed

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().cache_read("B").split("B_global.j", ("jo", "ji"), 8).transform_layout(
    "B_global", "jo ji"
)
