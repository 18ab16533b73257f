# ScheduleError
# offset C: C is no sum, in int32 or uint32, of products of an element of A_rows and something else

import loopwright as lw


@lw.operator
def squares() -> object:
    A = lw.input("A", (16, 8), "int8")
    k = lw.reduce_axis("k", 8)
    return lw.compute("C", (16,), lambda i: lw.sum(A[i, k] * A[i, k], over=k))


squares().schedule().cache_read("A", name="A_rows").offset("C", "A_rows")
