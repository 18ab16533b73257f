# ScheduleError
# rfactor hist.u0.y: hist.u0.y is no loop of a reduction, so there is nothing to take apart; hist.u0 has no reduction

from tests.sched.recurrences import histogram

histogram(7, 9, 5).schedule().rfactor("hist.u0.y")
