# ScheduleError
# vectorize s.u0.t: the iterations of s.u0.t depend on each other, so it cannot be vectorized:
# one iteration may read with `s[r, t - 1]` what another one writes.
# Choose one of s.u0.r

from tests.sched.recurrences import cumsum

cumsum(6, 13, 1).schedule().vectorize("s.u0.t")
