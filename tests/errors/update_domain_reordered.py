# ScheduleError
# reorder d.u0: the domain of d.u0 runs in the order 'i j', and another order changes the result:
# one iteration may read with `d[i - 1, j]` what another one writes.
# The other loops of d.u0 may stand anywhere between these

from tests.sched.recurrences import edit_distance

edit_distance(5, 7).schedule().reorder("d.u0", "j i")
