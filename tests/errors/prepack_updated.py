# ScheduleError
# prepack t: t cannot be computed before any call: it is updated; cache_read('t') makes a copy of the result, which can be

import loopwright as lw


@lw.operator
def shifted():
    x, w = lw.input("x", (8,)), lw.input("w", (8,), weight=True)
    t = lw.compute("t", (8,), lambda i: w[i])
    t = t.update(lambda i: (i, w[7 - i]), over=(lw.reduce_axis("r", 4),))
    return lw.compute("y", (8,), lambda i: x[i] * t[i])


shifted().schedule().prepack("t")
