# ScheduleError
# pad s.k: only a call knows how long s.k is (n); lw.size(..., multiple_of=) promises what pad would make

import loopwright as lw


@lw.operator
def total(M):
    n = lw.size("n")
    x = lw.input("x", (M, n))
    k = lw.reduce_axis("k", n)
    return lw.compute("s", (M,), lambda i: lw.sum(x[i, k], over=k))


total(7).schedule().pad("s", "k", 8)
