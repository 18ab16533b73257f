"""JAX, compiled by XLA for the CPU. It takes as many threads as the process may use processors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.suite.peers.formulas import blur, harris, unsharp
from benchmarks.suite.peers.given import Given, Prepare, Way, Ways
from benchmarks.suite.peers.layouts import LAST, convolution

Tensor = Any


def start(threads: int) -> str:
    """The version."""
    return str(jax.__version__)


def tensors(given: Given) -> list[Tensor]:
    """The arrays on XLA's device; bits of bfloat16 as such."""
    made = [jax.device_put(array) for array in given.arrays]
    return [lax.bitcast_convert_type(x, jnp.bfloat16) for x in made] if given.dtype == "bfloat16" else made


def compiled(function: Callable[..., Tensor], *arrays: Tensor, constant: int = 0) -> Way:
    """A way: the function compiled, for arrays of which the last few are constants of the program."""
    free, held = arrays[: len(arrays) - constant], arrays[len(arrays) - constant :]
    run = jax.jit(lambda *given: function(*given, *held)).lower(*free).compile()
    return Way(lambda: run(*free).block_until_ready())


def jitted(function: Callable[..., Tensor], given: Given, constant: int = 0) -> Ways:
    """All arrays as arguments; and with constants, if the row has them."""
    arrays = tensors(given)
    ways: Ways = {"jit": lambda: compiled(function, *arrays)}
    if constant:
        ways["jit, weights constant"] = lambda: compiled(function, *arrays, constant=constant)
    return ways


def product(given: Given, constant: int = 0) -> Ways:
    """Matrix products, one or many; narrow types are summed in wide ones."""
    if given.dtype == "uint8":
        return jitted(partial(lax.dot, preferred_element_type=jnp.int32), given, constant)
    return jitted(partial(jnp.matmul, preferred_element_type=jnp.float32), given, constant)


def conv(given: Given, depthwise: bool = False) -> Ways:
    """Convolutions in the row's layout."""
    how = convolution(given, depthwise)
    rank = len(how.stride)
    images = LAST[rank] if how.last else "NC" + LAST[rank][1:-1]
    spatial = LAST[rank][1:-1]
    weights = f"{spatial}IO" if how.last else f"OI{spatial}"

    def call(x: Tensor, w: Tensor) -> Tensor:
        if depthwise:
            w = w[..., None, :] if how.last else w[:, None]
        return lax.conv_general_dilated(
            x,
            w,
            how.stride,
            [(p, p) for p in how.padding],
            rhs_dilation=how.dilation,
            feature_group_count=how.groups,
            dimension_numbers=(images, weights, images),
        )

    return jitted(call, given, constant=1)


def transposed(given: Given) -> Ways:
    """A transposed convolution, as XLA has it: of an image with zeros between its pixels, by the weights turned round."""
    how = convolution(given, transposed=True)
    taps = how.w.shape[2:]
    around = [(taps[n] - 1 - how.padding[n],) * 2 for n in range(2)]

    def call(x: Tensor, w: Tensor) -> Tensor:
        return lax.conv_general_dilated(
            x,
            jnp.flip(w, (0, 1)),
            (1, 1),
            around,
            lhs_dilation=how.stride,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    return jitted(call, given, constant=1) if how.last else {}


def layer_norm(given: Given) -> Ways:
    """Of each row."""

    def call(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        off = x - x.mean(1, keepdims=True)
        return off * lax.rsqrt((off * off).mean(1, keepdims=True) + given.options["eps"]) * gamma + beta

    return jitted(call, given)


def rms_norm(given: Given) -> Ways:
    """Of each row."""

    def call(x: Tensor, gamma: Tensor) -> Tensor:
        return x * lax.rsqrt((x * x).mean(1, keepdims=True) + given.options["eps"]) * gamma

    return jitted(call, given)


def attention(given: Given) -> Ways:
    """Products and a softmax; and JAX's own function, which wants heads inside."""
    causal, scale = given.options["causal"], given.arrays[0].shape[-1] ** -0.5

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = jnp.matmul(q, k.swapaxes(-1, -2)) * scale
        if causal:
            scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -jnp.inf)
        return jnp.matmul(jax.nn.softmax(scores, -1), v)

    def inside(*arrays: Tensor) -> Tensor:
        q, k, v = (x.swapaxes(1, 2) for x in arrays)
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal).swapaxes(1, 2)

    arrays = tensors(given)
    return {
        "jit": lambda: compiled(call, *arrays),
        "dot_product_attention": lambda: compiled(inside, *arrays),
    }


ROWS: dict[str, Prepare] = {
    "gemm": product,
    "gemm constant": partial(product, constant=1),
    "batched": product,
    "conv": conv,
    "depthwise": partial(conv, depthwise=True),
    "transposed": transposed,
    "softmax": lambda given: jitted(lambda x: jax.nn.softmax(x, 1), given),
    "layer norm": layer_norm,
    "rms norm": rms_norm,
    "sum": lambda given: jitted(lambda x: x.sum(given.options["axis"]), given),
    "argmax": lambda given: jitted(lambda x: x.argmax(given.options["axis"]), given),
    "gelu": lambda given: jitted(lambda x, bias: jax.nn.gelu(x + bias, approximate=False), given),
    "add+relu": lambda given: jitted(lambda a, b: jnp.maximum(a + b, 0), given),
    "transpose": lambda given: jitted(lambda a: a.T, given),
    "attention": attention,
    "blur": lambda given: jitted(blur, given),
    "unsharp": lambda given: jitted(unsharp, given),
    "harris": lambda given: jitted(harris, given),
}
