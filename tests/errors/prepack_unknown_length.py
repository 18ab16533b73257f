# ScheduleError
# prepack wide: wide cannot be computed before any call: how long its loops are, or those of what it depends on, is not known before a call

import loopwright as lw


@lw.operator
def spread():
    x, w = lw.input("x", (lw.size("n"), 8)), lw.input("w", (8,), weight=True)
    wide = lw.compute("wide", x.shape, lambda i, j: w[j] * 2)
    return lw.compute("y", x.shape, lambda i, j: x[i, j] + wide[i, j])


spread().schedule().prepack("wide")
