# ArgumentError
# matmul: argument B has shape (5, 4); expected (k, n), which is (3, 4) where k = 3, n = 4

import numpy as np

import loopwright as lw
from tests.sched.workloads import matmul

kernel = lw.build(matmul(2, lw.size("n"), lw.size("k")))
kernel(np.ones((2, 3), "float32"), np.ones((5, 4), "float32"))
