# ScheduleError
# split s.u0.t: moved inward, the last tile of s.u0.t would update some elements for a second time;
# tail='peel' or 'guard' updates each once

import loopwright as lw


@lw.operator
def running(N: int) -> object:
    x, t = lw.input("x", (N,)), lw.reduce_axis("t", N)
    return lw.compute("s", (N,), lambda i: x[i]).update(lambda i: (i, 2), over=t)


running(N=30).schedule().split("s.u0.t", ("to", "ti"), 8, tail="shift_inward")
