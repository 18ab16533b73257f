# DefinitionError
# s.update: at index 0, `t + 8` is never inside s: it runs from 8 to 11, and the size is 8

import loopwright as lw

t = lw.reduce_axis("t", 4)
s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda: (t + 8, 0.0), over=t)
