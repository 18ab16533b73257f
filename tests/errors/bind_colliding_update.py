# ScheduleError
# bind hist.u0.y: the iterations of hist.u0.y depend on each other, so it cannot be bound to blockIdx.x:
# two iterations of y may write the same element hist[img[y, x]].
# rfactor('hist.u0.y') first gives each of them elements of its own

from tests.sched.recurrences import histogram

histogram(50, 60, 16).schedule().bind("hist.u0.y", "blockIdx.x")
