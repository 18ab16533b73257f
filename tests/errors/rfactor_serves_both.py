# ScheduleError
# rfactor y.k: y reads b, but is computed outside y_rf.i, where b is;
# place y inside that loop first, or b further out

import loopwright as lw


@lw.operator
def both(M, N):
    a = lw.input("a", (M, N))
    k = lw.reduce_axis("k", N)
    b = lw.compute("b", (M, N), lambda i, j: a[i, j] * 2)
    return lw.compute("y", (M,), lambda i: lw.sum(b[i, k], over=k) / b[i, 0])


both(7, 12).schedule().compute_at("b", "y.i").rfactor("y.k")
