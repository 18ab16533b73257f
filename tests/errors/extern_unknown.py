# BuildError
# each(N=4): this process has no function 'nowhere_at_all'; give lw.extern the shared library that has it, library=...

import loopwright as lw
from tests.sched.scalars import elementwise

nowhere = lw.extern("nowhere_at_all", takes=("float32",), returns="float32")
lw.build(elementwise(nowhere, ["float32"], 4), target="cpu")
