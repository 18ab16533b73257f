# ScheduleError
# prepack twice: twice cannot be computed before any call: it is inlined where it is read

import loopwright as lw


@lw.operator
def scaled():
    x, w = lw.input("x", (8,)), lw.input("w", (8,), weight=True)
    twice = lw.compute("twice", (8,), lambda i: w[i] * 2)
    return lw.compute("y", (8,), lambda i: x[i] * twice[i])


scaled().schedule().compute_inline("twice").prepack("twice")
