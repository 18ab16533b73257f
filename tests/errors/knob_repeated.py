# ScheduleError
# knob t: a value stands twice in [4, 8, 4]

import loopwright as lw

lw.knob("t", [4, 8, 4])
