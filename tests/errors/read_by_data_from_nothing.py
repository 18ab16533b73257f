# DefinitionError
# stage y: `x[at[i]]` reads x at index 0, which has no elements
import loopwright as lw

x, at = lw.input("x", (0,)), lw.input("at", (8,), "int32")
lw.compute("y", (8,), lambda i: x[at[i]])
