# ScheduleError
# Bp is prepacked, which is for CPUs; for cuda, leave out prepack

import loopwright as lw
from loopwright import ops

work = ops.matmul(M=8, N=8, K=8, weights="B")
schedule = (
    work.schedule()
    .bind("C.i", "blockIdx.x")
    .cache_read("B", name="Bp")
    .bind("Bp.k", "blockIdx.x")
    .prepack("Bp")
)
lw.lower(work, target="cuda", schedule=schedule)
