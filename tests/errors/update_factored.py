# ScheduleError
# rfactor hist.u0.y: hist.u0 is an update, and its iterations go on from one another, in the order written

from tests.sched.recurrences import histogram

histogram(7, 9, 5).schedule().rfactor("hist.u0.y")
