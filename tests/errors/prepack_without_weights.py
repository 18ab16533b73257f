# ScheduleError
# prepack steps: steps cannot be computed before any call: no input is a weight

import loopwright as lw


@lw.operator
def ramp():
    x = lw.input("x", (8,))
    steps = lw.compute("steps", (8,), lambda i: lw.cast("float32", i) * 2)
    return lw.compute("y", (8,), lambda i: x[i] + steps[i])


ramp().schedule().prepack("steps")
