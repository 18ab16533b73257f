# ScheduleError
# reorder s.u0: the domain of s.u0 runs in the order 't y x', and another order changes the result:
# one iteration may read with `s[t, y, x]` what another one writes.
# The other loops of s.u0 may stand anywhere between these

from tests.sched.recurrences import life

life(3, 7, 12).schedule().parallel("s.u0.y").reorder("s.u0", "y t x")
