# ScheduleError
# a GPU target: a tile of C hangs over, and 'wmma.16x16x16.f16.f32' computes whole ones;
# compute it in shared memory, at a loop over blocks: its last part is moved inside; pad a reduction, and its copies

import loopwright as lw
from loopwright import ops

work = ops.matmul(M=60, N=64, K=64, dtype="float16")
schedule = (
    work.schedule()
    .tile("C", i=("io", "ii", 16), j=("jo", "ji", 16), k=("ko", "ki", 16))
    .reorder("C", "io jo ko ii ji ki")
    .bind("C.io", "blockIdx.x")
    .bind("C.jo", "blockIdx.y")
    .cache_write("C", "shared", at="C.jo")
    .cache_read("A", "shared", at="C.ko")
    .cache_read("B", "shared", at="C.ko")
    .tensorize("C.ii", "wmma.16x16x16.f16.f32")
)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
