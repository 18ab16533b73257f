# DefinitionError
# matmul has no input 'W' to be a weight; the inputs are A, B

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights="W")
