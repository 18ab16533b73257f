# ScheduleError
# prepack B: B is an input; name a stage that copies it, such as what cache_read('B') or transform_layout('B', ...) makes

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights="B").schedule().prepack("B")
