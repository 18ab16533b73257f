"""What MetaSchedule is given computes what the workload does; tried on small sizes, without a schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import operators
from benchmarks.suite.as_te import NotWritten, tensors
from benchmarks.suite.checks import wrong
from benchmarks.suite.table import ROWS, Row
from loopwright import ops
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.inputs import random_inputs

SMALL: dict[str, Workload] = {
    "matmul": ops.matmul(M=3, N=5, K=4),
    "grouped conv": ops.conv2d(N=1, H=5, W=5, C=4, K=6, R=3, S=3, padding=1, stride=2, groups=2),
    "conv, channels first": ops.conv2d(N=1, H=5, W=5, C=4, K=6, R=3, S=3, padding=1, layout="NCHW"),
    "transposed": ops.conv_transpose2d(N=1, H=3, W=3, C=4, K=2, R=4, S=4, stride=2, padding=1),
    "softmax": ops.softmax(M=3, N=7),
    "layer norm": ops.layer_norm(M=3, N=8),
    "rms norm": ops.rms_norm(M=3, N=8),
    "argmax": ops.argmax(X=(5, 7), axis=1),
    "gelu": operators.biased_gelu(M=2, N=5),
    "add+relu": operators.add_relu(N=9),
    "attention": ops.attention(B=1, H=2, M=4, N=4, D=3, causal=True),
}


def computed(work: Workload, arrays: list[Any]) -> Any:
    import tvm
    from tvm import te

    given = [tvm.runtime.tensor(array) for array in arrays]
    out = tvm.runtime.tensor(np.zeros(work.outputs[0].shape, work.outputs[0].dtype))
    module = tvm.IRModule({"main": te.create_prim_func(tensors(work))})
    tvm.compile(module, target="llvm")["main"](*given, out)
    return out.numpy()


@pytest.mark.parametrize("name", SMALL)
def test_the_same_is_computed(name: str) -> None:
    work = SMALL[name]
    arrays = random_inputs(work)
    assert wrong(computed(work, arrays), work.reference(*arrays), "float32", 0.0) is None


@pytest.mark.parametrize("row", [row for row in ROWS if row.float32], ids=lambda row: row.name)
def test_every_row_can_be_given(row: Row) -> None:
    work = row.work()
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in tensors(work)]
    assert shapes == [stage.shape for stage in (*work.inputs, *work.outputs)]


def test_what_is_not_written_is_refused() -> None:
    with pytest.raises(NotWritten, match="updates"):
        tensors(ops.histogram(X=(4,), bins=3))
    with pytest.raises(NotWritten, match="the reduction prod"):
        tensors(ops.prod(X=(4,)))
