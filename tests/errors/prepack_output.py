# ScheduleError
# prepack Y: Y cannot be computed before any call: it writes an output; cache_write first computes it into a buffer of its own

from loopwright import ops

ops.relu((8,), weights="X").schedule().prepack("Y")
