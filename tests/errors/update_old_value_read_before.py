# DefinitionError
# counted: early reads hist as it was before its update, which is gone;
# use what update returned, for example by writing hist = hist.update(...)

import loopwright as lw


@lw.operator
def counted(N: int):
    x, t = lw.input("x", (N,), "int32"), lw.reduce_axis("t", N)
    hist = lw.compute("hist", (4,), lambda b: lw.const(0, "int32"))
    early = lw.compute("early", (4,), lambda b: hist[b] + 1)
    return early, hist.update(lambda old: old + 1, at=x[t], over=t)


counted(N=8)
