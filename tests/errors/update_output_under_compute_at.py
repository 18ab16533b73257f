# ScheduleError
# compute_at s, last.i: s is an output of the operator, so it is computed whole, at root

import loopwright as lw


@lw.operator
def both(N: int):
    t = lw.reduce_axis("t", N)
    s = lw.compute("s", (N,), lambda i: 1.0)
    s = s.update(lambda: (t, s[t] + s[t - 1]), over=t, where=t > 0)
    return s, lw.compute("last", (N,), lambda i: s[i])


both(N=8).schedule().compute_at("s", "last.i")
