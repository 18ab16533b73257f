# TargetError
# tensorize C.ii: the intrinsic 'wmma.16x16x16.f16.f32' needs sm_70, which cpu znver4 does not have

import loopwright as lw
from loopwright import ops

work = ops.matmul(M=64, N=64, K=64, dtype="float16")
schedule = (
    work.schedule()
    .tile("C", i=("io", "ii", 16), j=("jo", "ji", 16), k=("ko", "ki", 16))
    .reorder("C", "io jo ko ii ji ki")
    .tensorize("C.ii", "wmma.16x16x16.f16.f32")
)
lw.lower(work, target={"kind": "cpu", "mcpu": "znver4"}, schedule=schedule)
