# ScheduleError
# prepack Bp: Bp cannot be computed before any call: it is computed inside C.j; compute_root('Bp') first

from loopwright import ops

schedule = ops.matmul(M=8, N=8, K=8, weights="B").schedule().cache_read("B", at="C.j", name="Bp")
schedule.prepack("Bp")
