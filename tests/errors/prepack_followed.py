# ScheduleError
# prepack twice: twice cannot be computed before any call: more follows it inside its loops, and would be computed with it

import loopwright as lw


@lw.operator
def scaled():
    x, w = lw.input("x", (8,)), lw.input("w", (8,), weight=True)
    twice = lw.compute("twice", (8,), lambda i: w[i] * 2)
    more = lw.compute("more", (8,), lambda i: twice[i] + 1)
    return lw.compute("y", (8,), lambda i: x[i] * more[i])


scaled().schedule().reverse_compute_at("more", "twice.i").prepack("twice")
