# ScheduleError
# knob ?fast{True,False}: it has no value yet, so `if` cannot ask for it; fill the schedule first

import loopwright as lw

if lw.knob("fast", [True, False]):
    print("never")
