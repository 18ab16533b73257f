# DefinitionError
# matmul: weights= takes names of inputs, such as 'W' or ('W', 'bias'), not 1

from loopwright import ops

ops.matmul(M=8, N=8, K=8, weights=1)
