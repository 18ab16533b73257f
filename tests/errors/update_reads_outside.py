# DefinitionError
# stage s.u0: `s[t - 1]` reads s at index 0 from -1 to 6, outside 0..7;
# guard it with lw.select(inside, ..., otherwise), or clamp the index with lw.min and lw.max

import loopwright as lw

t = lw.reduce_axis("t", 8)
s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda: (t, s[t] + s[t - 1]), over=t)
