# ScheduleError
# prepack C_init: C_init cannot be computed before any call: the reduction of C goes on from what it stores, and would change it

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights="B").schedule().decompose_reduction("C").prepack("C_init")
