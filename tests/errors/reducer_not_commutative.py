# DefinitionError
# first: combine is not commutative: combine((0.25, 8), (0.25, 3)) is (0.25, 8),
# but combine((0.25, 3), (0.25, 8)) is (0.25, 3).
# Reduction loops may run in any order: let a component decide ties, or say commutative=False to keep the order

import loopwright as lw

first = lw.reducer(
    lambda a, b: (lw.select(b[0] > a[0], b[0], a[0]), lw.select(b[0] > a[0], b[1], a[1])),
    identity=(float("-inf"), 2**31 - 1),
    name="first",
)
x, k = lw.input("x", (4, 9)), lw.reduce_axis("k", 9)
lw.compute("best", (4,), lambda i: first((x[i, k], k), over=k))
