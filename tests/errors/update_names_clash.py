# DefinitionError
# stage s.u0: two axes are named 't'; give each its own name

import loopwright as lw

over = lw.reduce_axis("t", 8)
s = lw.compute("s", (8, 8), lambda i, j: 1.0)
s.update(lambda t: ((t, over), 0.0), over=over)
