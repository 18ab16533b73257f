"""PyTorch on the CPU: oneDNN, OpenBLAS or MKL, and its own kernels, in inference mode, with weights packed where it can; and what
its compiler makes of the same functions, which wants a C++ compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch._inductor import config as inductor
from torch.nn import functional

from benchmarks.suite.peers.formulas import blur, harris, unsharp
from benchmarks.suite.peers.given import Array, Given, Prepare, Way, Ways
from benchmarks.suite.peers.layouts import Convolution, convolution

Tensor = torch.Tensor
Function = Callable[..., Tensor]

# Of the compiler: weights are constants, and it tries its own kernels for products and convolutions too.
COMPILER = {"freezing": True, "max_autotune": True}


def start(threads: int) -> str:
    """The version."""
    inductor.compile_threads = 1  # in this process: others would go on beside what is timed
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch.inference_mode(True).__enter__()  # until the process ends
    return str(torch.__version__)


def tensors(given: Given) -> list[Tensor]:
    """The arrays where they lie; bits of bfloat16 as such."""
    made = [torch.from_numpy(array) for array in given.arrays]
    return [t.view(torch.bfloat16) for t in made] if given.dtype == "bfloat16" else made


def array(y: Tensor) -> Array:
    """A result as NumPy has it."""
    return np.asarray((y.float() if y.dtype == torch.bfloat16 else y).numpy())


def way(call: Callable[[], Tensor]) -> Callable[[], Way]:
    """A way to be made later, whose result needs no rearranging."""
    return lambda: Way(call, array)


class Program(torch.nn.Module):
    """A function of which the last few arguments are constants, as the compiler knows them."""

    def __init__(self, function: Function, constants: Sequence[Tensor]) -> None:
        super().__init__()
        self.function, self.names = function, [f"constant{nth}" for nth in range(len(constants))]
        for name, tensor in zip(self.names, constants, strict=True):
            self.register_buffer(name, tensor)

    def forward(self, *arrays: Tensor) -> Tensor:
        """Its result."""
        return self.function(*arrays, *(getattr(self, name) for name in self.names))


def compiled(
    function: Function, *arrays: Tensor, constant: int = 0, shown: Callable[[Tensor], Array] = array
) -> Ways:
    """One more way: the function compiled, for arrays of which the last few are constants; whole, or it fails."""

    def make() -> Way:
        count = len(arrays) - constant
        program = Program(function, arrays[count:])
        run = torch.compile(program, dynamic=False, fullgraph=True, options=COMPILER)
        return Way(lambda: run(*arrays[:count]), shown)

    return {"compiled": make}


def both(name: str, function: Function, *arrays: Tensor) -> Ways:
    """A function as it is, and compiled."""
    return {name: way(lambda: function(*arrays)), **compiled(function, *arrays)}


def product(given: Given, constant: int = 0) -> Ways:
    """Matrix products; of bytes exact in int32, of bfloat16 rounded to bfloat16."""
    a, b = tensors(given)
    if given.dtype == "uint8":
        sums = torch.empty(a.shape[0], b.shape[1], dtype=torch.int32)
        ways = {"_int_mm": way(lambda: torch._int_mm(a, b, out=sums))}
        return ways | compiled(torch._int_mm, a, b, constant=constant)
    out = torch.empty(*a.shape[:-1], b.shape[-1], dtype=a.dtype)
    ways = {"matmul": way(lambda: torch.matmul(a, b, out=out))}
    return ways | compiled(torch.matmul, a, b, constant=constant)


def constant_product(given: Given) -> Ways:
    """The same where B is known beforehand, and so may lie as each operation likes it."""
    a, b = tensors(given)
    across = b.t().contiguous()
    if given.dtype == "uint8":
        sums = torch.empty(a.shape[0], b.shape[1], dtype=torch.int32)
        turned = across.t()
        return {
            **product(given, constant=1),
            "_int_mm, B turned": way(lambda: torch._int_mm(a, turned, out=sums)),
            "oneDNN linear of integers, packed": lambda: packed_integers(a, b),
        }
    return {
        **product(given, constant=1),
        "linear": way(lambda: functional.linear(a, across)),
        "oneDNN linear, packed": lambda: packed_linear(a, across),
    }


def packed_linear(a: Tensor, across: Tensor) -> Way:
    """What PyTorch's compiler makes of a linear layer whose weights it may freeze."""
    packed = torch.ops.mkldnn._reorder_linear_weight(across, a.shape[0])
    return Way(lambda: torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], ""), array)


def packed_integers(a: Tensor, b: Tensor) -> Way:
    """A quantized linear layer with scales of one: its sums come as float32, exact below 2^24."""
    packed = torch.ops.onednn.qlinear_prepack(b, list(a.shape))
    columns = b.shape[1]
    scales, zeros = torch.ones(columns), torch.zeros(columns, dtype=torch.int64)
    run = torch.ops.onednn.qlinear_pointwise
    return Way(
        lambda: run(a, 1.0, 0, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], ""),
        array,
    )


def batched(given: Given) -> Ways:
    """Products side by side."""
    a, b = tensors(given)
    out = torch.empty(*a.shape[:-1], b.shape[-1])
    return {"bmm": way(lambda: torch.bmm(a, b, out=out)), **compiled(torch.bmm, a, b)}


CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}


def conv(given: Given, depthwise: bool = False) -> Ways:
    """Convolutions as the row's memory lies, with plain and with packed weights; and, for a row with channels last, first."""
    how = convolution(given, depthwise)
    x, w = torch.from_numpy(how.x), torch.from_numpy(how.w)
    if x.dim() == 3:  # PyTorch itself computes these as images of one row
        x, w = x.unsqueeze(2), w.unsqueeze(2)
        sizes = {"stride": (1, *how.stride), "padding": (0, *how.padding), "dilation": (1, *how.dilation)}
    else:
        sizes = {"stride": how.stride, "padding": how.padding, "dilation": how.dilation}
    shown = partial(as_row, how)

    def plain(image: Tensor, order: torch.memory_format) -> Way:
        weights = w.contiguous(memory_format=order)
        run = CONV[image.dim() - 2]
        return Way(lambda: run(image, weights, None, groups=how.groups, **sizes), shown)

    def packed(image: Tensor) -> Way:
        steps = [list(sizes[name]) for name in ("padding", "stride", "dilation")]
        weights = torch.ops.mkldnn._reorder_convolution_weight(
            w.contiguous(), *steps, how.groups, list(image.shape)
        )
        run = torch.ops.mkldnn._convolution_pointwise
        return Way(lambda: run(image, weights, None, *steps, how.groups, "none", [], ""), shown)

    first = x.contiguous()
    ways: Ways = {
        "channels first": lambda: plain(first, torch.contiguous_format),
        "channels first, packed": lambda: packed(first),
    }
    if how.last:
        order = torch.channels_last_3d if x.dim() == 5 else torch.channels_last
        lying = x.contiguous(memory_format=order)
        ways["channels last"] = lambda: plain(lying, order)
        ways["channels last, packed"] = lambda: packed(lying)
    image = lying if how.last else first
    call = partial(CONV[x.dim() - 2], bias=None, groups=how.groups, **sizes)
    return ways | compiled(call, image, w, constant=1, shown=shown)


def as_row(how: Convolution, y: Tensor) -> Array:
    """A result in the row's layout."""
    return how.as_row((y.squeeze(2) if y.dim() == how.x.ndim + 1 else y).numpy())


def transposed(given: Given) -> Ways:
    """Transposed convolutions, likewise."""
    how = convolution(given, transposed=True)
    x, w = torch.from_numpy(how.x), torch.from_numpy(how.w)
    shown = partial(as_row, how)

    def plain(order: torch.memory_format) -> Way:
        image, weights = x.contiguous(memory_format=order), w.contiguous(memory_format=order)
        return Way(
            lambda: functional.conv_transpose2d(image, weights, stride=how.stride, padding=how.padding), shown
        )

    def packed(order: torch.memory_format) -> Way:
        image = x.contiguous(memory_format=order)
        sizes = [list(how.padding), [0, 0], list(how.stride), [1, 1]]
        weights = torch.ops.mkldnn._reorder_convolution_transpose_weight(
            w.contiguous(), *sizes, 1, list(x.shape)
        )
        run = torch.ops.mkldnn._convolution_transpose_pointwise
        return Way(lambda: run(image, weights, None, *sizes, 1, "none", [], ""), shown)

    orders = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
    ways: Ways = {}
    for name, order in orders.items():
        ways[name] = partial(plain, order)
        ways[f"{name}, packed"] = partial(packed, order)
    call = partial(functional.conv_transpose2d, stride=how.stride, padding=how.padding)
    image = x.contiguous(memory_format=torch.channels_last)
    return ways | compiled(call, image, w, constant=1, shown=shown)


def softmax(given: Given) -> Ways:
    """Of each row."""
    (x,) = tensors(given)
    out = torch.empty_like(x)
    ways = {"softmax": way(lambda: torch.softmax(x, 1, out=out))}
    return ways | compiled(partial(torch.softmax, dim=1), x)


def layer_norm(given: Given) -> Ways:
    """Of each row."""
    x, gamma, beta = tensors(given)

    def call(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return functional.layer_norm(x, x.shape[1:], gamma, beta, given.options["eps"])

    return both("layer_norm", call, x, gamma, beta)


def rms_norm(given: Given) -> Ways:
    """Of each row: PyTorch's, or a program of functions."""
    x, gamma = tensors(given)
    eps = given.options["eps"]

    def functions(x: Tensor, gamma: Tensor) -> Tensor:
        return x * torch.rsqrt((x * x).mean(1, keepdim=True) + eps) * gamma

    return {
        "rms_norm": way(lambda: functional.rms_norm(x, x.shape[1:], gamma, eps)),
        **both("functions", functions, x, gamma),
    }


def sums(given: Given) -> Ways:
    """Along an axis."""
    (x,), axis = tensors(given), given.options["axis"]
    out = torch.empty(x.shape[1 - axis])
    return {"sum": way(lambda: torch.sum(x, axis, out=out)), **compiled(partial(torch.sum, dim=axis), x)}


def argmax(given: Given) -> Ways:
    """Along an axis."""
    (x,), axis = tensors(given), given.options["axis"]
    return {
        "max": way(lambda: torch.max(x, axis).indices),
        **both("argmax", partial(torch.argmax, dim=axis), x),
    }


def gelu(given: Given) -> Ways:
    """An addition, and gelu."""
    x, bias = tensors(given)
    t = torch.empty_like(x)
    return {
        "add into an array, gelu": way(lambda: functional.gelu(torch.add(x, bias, out=t))),
        **both("add, gelu", lambda x, bias: functional.gelu(x + bias), x, bias),
    }


def add_relu(given: Given) -> Ways:
    """An addition, and relu where it lies."""
    a, b = tensors(given)
    out = torch.empty_like(a)
    ways = {"add, relu_": way(lambda: torch.relu_(torch.add(a, b, out=out)))}
    return ways | compiled(lambda a, b: torch.relu(a + b), a, b)


def transpose(given: Given) -> Ways:
    """A copy of the transposed view."""
    (a,) = tensors(given)
    out = torch.empty(a.shape[1], a.shape[0])
    return {
        "copy_": way(lambda: out.copy_(a.t())),
        **both("contiguous", lambda a: a.t().contiguous(), a),
    }


def attention(given: Given) -> Ways:
    """PyTorch's fused one, or products and a softmax."""
    q, k, v = tensors(given)
    causal, scale = given.options["causal"], q.shape[-1] ** -0.5
    unseen = torch.full((q.shape[-2], k.shape[-2]), float("-inf")).triu(1)

    def functions(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = torch.matmul(q, k.transpose(-1, -2)).mul_(scale)
        return torch.matmul(torch.softmax(scores.add_(unseen) if causal else scores, -1), v)

    return {
        "scaled_dot_product_attention": way(
            lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        ),
        **both("functions", functions, q, k, v),
    }


def image(given: Given, function: Function) -> Ways:
    """An image's formula, in functions."""
    return both("functions", function, *tensors(given))


def blurred(pixels: Tensor) -> Tensor:
    """The blur of 16-bit pixels, with which PyTorch itself does not compute."""
    return blur(pixels.int()).to(torch.uint16)


ROWS: dict[str, Prepare] = {
    "gemm": product,
    "gemm constant": constant_product,
    "batched": batched,
    "conv": conv,
    "depthwise": partial(conv, depthwise=True),
    "transposed": transposed,
    "softmax": softmax,
    "layer norm": layer_norm,
    "rms norm": rms_norm,
    "sum": sums,
    "argmax": argmax,
    "gelu": gelu,
    "add+relu": add_relu,
    "transpose": transpose,
    "attention": attention,
    "blur": partial(image, function=blurred),
    "unsharp": partial(image, function=unsharp),
    "harris": partial(image, function=harris),
}
