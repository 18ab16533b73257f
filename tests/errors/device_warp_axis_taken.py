# ScheduleError
# a GPU target: C.jo is bound to threadIdx.x, which are the 32 threads that do 'wmma.16x16x16.f16.f32' together;
# bind it to threadIdx.y or threadIdx.z

import loopwright as lw
from loopwright import ops

work = ops.matmul(M=64, N=64, K=64, dtype="float16")
schedule = (
    work.schedule()
    .tile("C", i=("io", "ii", 16), j=("jo", "ji", 16), k=("ko", "ki", 16))
    .reorder("C", "io jo ko ii ji ki")
    .bind("C.io", "blockIdx.x")
    .bind("C.jo", "threadIdx.x")
    .tensorize("C.ii", "wmma.16x16x16.f16.f32")
)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
