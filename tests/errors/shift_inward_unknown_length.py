# ScheduleError
# split y.i: only a call knows how long y.i is (n), and what is shorter than a tile has no room to move it inward;
# tail='peel' leaves it in place

import loopwright as lw


@lw.operator
def doubled(N: int) -> object:
    x = lw.input("x", (N,))
    return lw.compute("y", (N,), lambda i: x[i] * 2)


doubled(N=lw.size("n")).schedule().split("y.i", ("io", "ii"), 8, tail="shift_inward")
