# DefinitionError
# counted: hist is returned as it was before its update; return what update returned

import loopwright as lw


@lw.operator
def counted(N: int):
    x, t = lw.input("x", (N,), "int32"), lw.reduce_axis("t", N)
    hist = lw.compute("hist", (4,), lambda b: lw.const(0, "int32"))
    hist.update(lambda old: old + 1, at=x[t], over=t)
    return hist


counted(N=8)
