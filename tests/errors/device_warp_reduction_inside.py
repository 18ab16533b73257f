# ScheduleError
# a GPU target: of C, a reduction loop stands inside others over its tiles;
# reorder, so that all reduction loops but the innermost are outside of them

import loopwright as lw
from loopwright import ops

work = ops.matmul(M=64, N=64, K=64, dtype="float16")
schedule = (
    work.schedule()
    .tile("C", i=("io", "ii", 16), j=("jo", "jr", 32), k=("ko", "kr", 32))
    .split("C.jr", ("ju", "ji"), 16)
    .split("C.kr", ("ku", "ki"), 16)
    .reorder("C", "io jo ko ju ku ii ji ki")
    .bind("C.io", "blockIdx.x")
    .bind("C.jo", "blockIdx.y")
    .cache_write("C", "shared", at="C.jo")
    .cache_read("A", "shared", at="C.ko")
    .cache_read("B", "shared", at="C.ko")
    .tensorize("C.ii", "wmma.16x16x16.f16.f32")
)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
