# DefinitionError
# window: no call can tell the size n; it must be, as it is, a dimension of an input

from typing import Any

import loopwright as lw


@lw.operator
def window(n: int) -> Any:
    x = lw.input("x", (n + 2,))
    return lw.compute("y", (n,), lambda i: x[i] + x[i + 2])


window(lw.size("n"))
