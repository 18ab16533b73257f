# ScheduleError
# knob at: arithmetic needs integer values, and 'C.i' is none

import loopwright as lw

2 * lw.knob("at", ["C.i", "C.j"])
