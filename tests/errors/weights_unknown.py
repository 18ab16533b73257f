# DefinitionError
# matmul: weights= names 'W'; the inputs are A, B

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights="W")
