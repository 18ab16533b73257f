# DefinitionError
# stage y: `x[i + 1]` may read x at index 0 outside 0..n - 1, for some sizes;
# guard it with lw.select(inside, ..., otherwise), clamp the index with lw.min and lw.max,
# or promise more of the sizes, such as at_least=1

import loopwright as lw

n = lw.size("n")
x = lw.input("x", (n,))
lw.compute("y", (n,), lambda i: x[i + 1])
