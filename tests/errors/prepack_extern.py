# ScheduleError
# prepack t: t cannot be computed before any call: a C function computes it, or what it depends on

import numpy as np

import loopwright as lw

x, w = lw.input("x", (7, 37), "int32"), lw.input("w", (7, 37), "int32", weight=True)
t = lw.extern_stage("t", (7, 37), "sort_rows", [w], numpy=np.sort)
y = lw.compute("y", (7, 37), lambda i, j: x[i, j] + t[i, j])
lw.Workload("between", {}, [x, w], [y]).schedule().prepack("t")
