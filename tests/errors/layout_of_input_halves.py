# ScheduleError
# transform_layout B: 'j//32 k j%16' must hold j once, or its two halves 'j//n' and 'j%n'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().transform_layout("B", "j//32 k j%16")
