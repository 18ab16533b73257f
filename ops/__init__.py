"""The operator library: each operator's definition, its NumPy counterpart, and named sets of workloads.

    from loopwright import ops
    work = ops.matmul(M=512, N=512, K=512)

The names of stages and axes are public: a schedule that speaks of ``C.k`` keeps working, whatever the options.
"""

from loopwright.ops.matmul import batch_matmul, matmul

__all__ = ["batch_matmul", "matmul"]
