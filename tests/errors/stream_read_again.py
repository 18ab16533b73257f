# ScheduleError
# stream y: z reads y again, and would have to fetch it

import loopwright as lw


@lw.operator
def both(N: int) -> tuple:
    x = lw.input("x", (N,))
    y = lw.compute("y", (N,), lambda i: x[i] * 2.0)
    return y, lw.compute("z", (N,), lambda i: y[i] + 1.0)


both(N=100).schedule().vectorize("y.i", 8).stream("y")
