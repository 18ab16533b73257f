# DefinitionError
# s.update: the function returns where to write and what, (at, value); with more than one dimension ((y, x), value).
# Give at= if it takes the old value: update(lambda old: old + 1, at=..., over=...)

import loopwright as lw

t = lw.reduce_axis("t", 8)
s = lw.compute("s", (8,), lambda i: 1.0)
s.update(lambda old: old + 1, over=t)
