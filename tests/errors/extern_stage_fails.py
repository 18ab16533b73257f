# ExternError
# paged: getpagesize, which computes y, returned 4096; what the outputs hold is undefined

import numpy as np

import loopwright as lw

# The size of a page of memory is not 0.
y = lw.extern_stage("y", (4,), "getpagesize", [], numpy=lambda: np.zeros(4, "int32"), dtype="int32")
lw.build(lw.Workload("paged", {}, [], [y]), target="cpu")()
