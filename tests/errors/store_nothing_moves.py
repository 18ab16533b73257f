# ScheduleError
# store_root b: no iteration would find a part of b that those before it left behind;
# c.i moves its region backwards in i

import loopwright as lw


@lw.operator
def turned(N: int) -> object:
    a = lw.input("a", (N,))
    b = lw.compute("b", (N,), lambda i: a[i] * 2)
    return lw.compute("c", (N,), lambda i: b[N - 1 - i] + i)


turned(9).schedule().compute_at("b", "c.i").store_root("b")
