# ScheduleError
# a GPU target: 'wmma.16x16x16.f16.f32' of C loads and stores shared memory, and A is in global memory;
# cache_read('A', 'shared')

import loopwright as lw
from loopwright import ops

work = ops.matmul(M=64, N=64, K=64, dtype="float16")
schedule = (
    work.schedule()
    .tile("C", i=("io", "ii", 16), j=("jo", "ji", 16), k=("ko", "ki", 16))
    .reorder("C", "io jo ko ii ji ki")
    .bind("C.io", "blockIdx.x")
    .bind("C.jo", "blockIdx.y")
    .tensorize("C.ii", "wmma.16x16x16.f16.f32")
)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
