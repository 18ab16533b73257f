# ScheduleError
# prepack Bl: Bl cannot be computed before any call: it is kept in local memory, which does not outlive a call

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights="B").schedule().cache_read("B", "local", name="Bl").prepack("Bl")
