# ScheduleError
# transform_layout B: 'l%32' is no axis, nor half of one such as 'j//16' and 'j%16'; the axes are k, j

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().transform_layout("B", "j//32 k l%32")
