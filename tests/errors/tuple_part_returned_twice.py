# DefinitionError
# twice: one stage is returned twice; each output is a stage of its own

import loopwright as lw


@lw.operator
def twice(N):
    x = lw.input("x", (N,))
    low, high = lw.compute("m", (N,), lambda i: (x[i], x[i] * 2))
    return low, high, low


twice(4)
