# ScheduleError
# knob t: it needs at least one value

import loopwright as lw

lw.knob("t", [])
