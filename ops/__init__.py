"""The operator library: each operator's definition, its NumPy counterpart, and named sets of workloads.

    from loopwright import ops
    work = ops.matmul(M=512, N=512, K=512)

The names of inputs, stages and axes are public: a schedule that speaks of ``C.k`` keeps working, whatever the options.
"""

from loopwright.ops.elementwise import activation, add, bias_add, gelu, multiply, relu
from loopwright.ops.matmul import batch_matmul, dense, matmul
from loopwright.ops.norm import layer_norm, rms_norm
from loopwright.ops.reduce import column_sum, row_max, row_min, row_norm, row_sum
from loopwright.ops.sets import Entry, WorkloadSet, workload_set, workload_sets
from loopwright.ops.softmax import log_softmax, softmax

__all__ = [
    "Entry",
    "WorkloadSet",
    "activation",
    "add",
    "batch_matmul",
    "bias_add",
    "column_sum",
    "dense",
    "gelu",
    "layer_norm",
    "log_softmax",
    "matmul",
    "multiply",
    "relu",
    "rms_norm",
    "row_max",
    "row_min",
    "row_norm",
    "row_sum",
    "softmax",
    "workload_set",
    "workload_sets",
]
