# ScheduleError
# prepack Ap: Ap cannot be computed before any call: it depends on A, which may differ from call to call;
# an input is a weight by lw.input(..., weight=True), or weights='A' of the operator

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights="B").schedule().cache_read("A", name="Ap").prepack("Ap")
