# ScheduleError
# compute_inline s12: the formula of s13 would have 81915 operations, more than 50000; leave s12 stored, or another stage between

import loopwright as lw


@lw.operator
def doubled(N: int) -> object:
    """Each stage reads the one before it twice."""
    last = lw.input("x", (N,))
    for n in range(40):
        last = lw.compute(f"s{n}", (N,), lambda i, t=last: t[i] + t[i])
    return last


schedule = doubled(8).schedule()
for n in range(39):
    schedule = schedule.compute_inline(f"s{n}")
