# ScheduleError
# unroll y.i: the body, written out 1000 times (y.i 1000), would come to 128000 operations (one on float8_e4m3fn is 16), more than 32000, and compile for minutes;
# split, and unroll the inner loop

import loopwright as lw

x = lw.input("x", (1000,), "float8_e4m3fn")
y = lw.compute("y", (1000,), lambda i: lw.max(x[i] * x[i], x[i]))
lw.Workload("narrow", {}, [x], [y]).schedule().unroll("y.i")
