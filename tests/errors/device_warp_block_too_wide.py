# ScheduleError
# a GPU target: in the kernel of C 64 threads along threadIdx.x are bound, and 'wmma.16x16x16.f16.f32' of acc wants 32;
# split what is bound to it by 32, and bind the rest to threadIdx.y

import loopwright as lw
from tests.gpu.warps import followed, named

work = named(16, 64, 16)
lw.lower(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=followed(work, columns=64))
