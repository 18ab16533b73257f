# ScheduleError
# bind C.i: there is no axis 'threadIdx.w'; it is one of 'blockIdx.x', 'blockIdx.y', 'blockIdx.z', 'threadIdx.x', 'threadIdx.y', 'threadIdx.z', 'vthread'

from tests.sched.workloads import matmul

matmul(500, 300, 200).schedule().bind("C.i", "threadIdx.w")
