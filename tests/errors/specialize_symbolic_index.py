# ScheduleError
# specialize 'a[0] == 0': 'a[0] == 0' is no condition (the index 0 may be outside a[n]);
# it compares elements of inputs such as a[0], sizes and numbers

import loopwright as lw

n = lw.size("n")


@lw.operator
def double() -> object:
    a = lw.input("a", (n,))
    return lw.compute("b", (n,), lambda i: a[i] * 2)


double().schedule().specialize("a[0] == 0", lambda s: s.unroll("b.i", 2))
