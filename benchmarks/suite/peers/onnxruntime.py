"""ONNX Runtime: a model for each row, its weights as initializers, so that they are packed when it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    np_dtype_to_tensor_dtype,
)

from benchmarks.suite.peers.given import Array, Given, Prepare, Way, Ways
from benchmarks.suite.peers.layouts import convolution

OPSET, OPSET_NEW, IR = 17, 23, 10
Show = Callable[[Array], Array]


def start(threads: int) -> str:
    """The version."""
    onnxruntime.set_default_logger_severity(3)
    return str(onnxruntime.__version__)


def loaded(
    given: Given,
    nodes: list[Any],
    inputs: list[Array],
    constants: list[Array],
    *,
    opset: int = OPSET,
    show: Show = np.asarray,
) -> Way:
    """A model whose inputs are ``a``, ``b``, ``c``, whose constants are ``u``, ``v``, ``w``, and whose output is ``y``."""
    feeds = dict(zip("abc", inputs, strict=False))
    graph = make_graph(
        nodes,
        "row",
        [
            make_tensor_value_info(name, np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in feeds.items()
        ],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(x, name) for name, x in zip("uvw", constants, strict=False)],
    )
    domains = [make_opsetid("", opset), make_opsetid("com.microsoft", 1)]
    model = make_model(graph, opset_imports=domains, ir_version=IR)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = given.threads, 1
    made = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = made.io_binding()
    held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in feeds.items()}
    for name, value in held.items():
        binding.bind_ortvalue_input(name, value)
    (first,) = made.run(["y"], feeds)
    out = onnxruntime.OrtValue.ortvalue_from_numpy(first)  # results go where the first one lay
    binding.bind_ortvalue_output("y", out)

    def run() -> Any:
        made.run_with_iobinding(binding)
        return held, out

    return Way(run, lambda found: show(found[1].numpy()))


def one(operation: str, count: int, constants: int = 0, domain: str = "", **attributes: Any) -> Any:
    """A node of so many inputs and constants."""
    return make_node(operation, [*"abc"[:count], *"uvw"[:constants]], ["y"], domain=domain, **attributes)


def model(
    given: Given, operation: str, constants: int = 0, opset: int = OPSET, domain: str = "", **attributes: Any
) -> Ways:
    """The only way: one operation, of which the last arrays are constants."""
    arrays = given.arrays
    free = len(arrays) - constants
    node = one(operation, free, constants, domain, **attributes)
    return {operation: lambda: loaded(given, [node], arrays[:free], arrays[free:], opset=opset)}


def product(given: Given, constants: int = 0) -> Ways:
    """Matrix products; of bfloat16 there is none for CPUs."""
    names = {"float32": "MatMul", "uint8": "MatMulInteger"}
    return model(given, names[given.dtype], constants) if given.dtype in names else {}


def conv(given: Given, depthwise: bool = False, transposed: bool = False) -> Ways:
    """Convolutions with channels first, which is what there is; a row with them last is handed in like that, for nothing."""
    how = convolution(given, depthwise, transposed)
    sizes = {"strides": how.stride, "pads": how.padding * 2, "dilations": how.dilation, "group": how.groups}
    operation = "ConvTranspose" if transposed else "Conv"
    x, w = np.ascontiguousarray(how.x), np.ascontiguousarray(how.w)
    node = one(operation, 1, 1, **sizes)
    return {operation: lambda: loaded(given, [node], [x], [w], show=how.as_row)}


def rms_norm(given: Given) -> Ways:
    """ONNX's operation, and the one ONNX Runtime had before."""
    eps = given.options["eps"]
    return {
        **model(given, "RMSNormalization", 1, OPSET_NEW, epsilon=eps),
        **model(given, "SimplifiedLayerNormalization", 1, epsilon=eps),
    }


def sums(given: Given) -> Ways:
    """Along an axis."""
    axis = np.array([given.options["axis"]], np.int64)
    node = one("ReduceSum", 1, 1, keepdims=0)
    return {"ReduceSum": lambda: loaded(given, [node], given.arrays, [axis])}


def gelu(given: Given) -> Ways:
    """ONNX's operations, and the fused one of ONNX Runtime."""
    nodes = [
        make_node("Add", ["a", "u"], ["t"]),
        make_node("Gelu", ["t"], ["y"]),
    ]
    return {
        "Add, Gelu": lambda: loaded(given, nodes, given.arrays[:1], given.arrays[1:], opset=20),
        **model(given, "BiasGelu", 1, domain="com.microsoft"),
    }


def add_relu(given: Given) -> Ways:
    """Two operations."""
    nodes = [make_node("Add", ["a", "b"], ["t"]), make_node("Relu", ["t"], ["y"])]
    return {"Add, Relu": lambda: loaded(given, nodes, given.arrays, [])}


def attention(given: Given) -> Ways:
    """ONNX's operation, and ONNX Runtime's own, which wants heads inside a token, side by side."""
    causal = int(given.options["causal"])
    batch, heads, tokens, width = given.arrays[0].shape
    inside = [
        np.ascontiguousarray(x.swapaxes(1, 2)).reshape(batch, tokens, heads * width) for x in given.arrays
    ]
    node = one("MultiHeadAttention", 3, 0, "com.microsoft", num_heads=heads, unidirectional=causal)

    def show(y: Array) -> Array:
        return y.reshape(batch, tokens, heads, width).swapaxes(1, 2)

    return {
        **model(given, "Attention", 0, OPSET_NEW, is_causal=causal),
        "MultiHeadAttention": lambda: loaded(given, [node], inside, [], show=show),
    }


ROWS: dict[str, Prepare] = {
    "gemm": product,
    "gemm constant": partial(product, constants=1),
    "batched": product,
    "conv": conv,
    "depthwise": partial(conv, depthwise=True),
    "transposed": partial(conv, transposed=True),
    "softmax": partial(model, operation="Softmax", axis=1),
    "layer norm": lambda given: model(given, "LayerNormalization", 2, epsilon=given.options["eps"], axis=1),
    "rms norm": rms_norm,
    "sum": sums,
    "argmax": lambda given: model(given, "ArgMax", axis=given.options["axis"], keepdims=0),
    "gelu": gelu,
    "add+relu": add_relu,
    "transpose": partial(model, operation="Transpose", perm=[1, 0]),
    "attention": attention,
}
