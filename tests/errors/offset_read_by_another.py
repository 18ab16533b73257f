# ScheduleError
# offset C: P is read by D, too, which would see other numbers; make C a copy of its own: cache_read('P', consumers=['C'])

import loopwright as lw


@lw.operator
def two() -> object:
    A, B = lw.input("A", (16, 8), "int8"), lw.input("B", (8, 32), "int8")
    P = lw.compute("P", (16, 8), lambda i, k: lw.max(A[i, k], 0))
    k = lw.reduce_axis("k", 8)
    C = lw.compute("C", (16, 32), lambda i, j: lw.sum(P[i, k] * B[k, j], over=k))
    D = lw.compute("D", (16, 8), lambda i, k: P[i, k] + 1)
    return C, D


two().schedule().offset("C", "P")
