"""What slides over an array, in convolutions and pooling: sizes, strides, padding, dilation, and where channels lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import (
    Bounded,
    constant_exterior,
    mirror_interior,
    repeat_edge,
    repeat_image,
)
from loopwright.sched.language.builders import compute
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.stage import Tensor
from loopwright.sched.reference.numbers import Array

# A stride, a dilation: one number for all dimensions, or one for each.
Steps = int | tuple[int, ...]
# ``"valid"``, ``"same"``, a number for both sides of all dimensions, or for each dimension a number or (before, after).
Padding = str | int | tuple[int | tuple[int, int], ...]
# Name -> the boundary condition, and NumPy's name for it.
Outside = Callable[[Tensor, list[int]], Bounded]
PADDING_MODES: Mapping[str, tuple[Outside, str]] = {
    "zeros": (lambda x, dims: constant_exterior(x, 0, dims), "constant"),
    "replicate": (repeat_edge, "edge"),
    "reflect": (mirror_interior, "reflect"),
    "circular": (repeat_image, "wrap"),
}
LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


@dataclass(frozen=True)
class Window:
    """One dimension of what slides.

    Attributes:
        size: elements of the input.
        taps: elements of the window.
        stride: steps of the input from one output to the next.
        dilation: steps of the input from one tap to the next.
        before, after: elements of padding.
    """

    size: int
    taps: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    @property
    def padded(self) -> int:
        """Elements with the padding."""
        return self.before + self.size + self.after

    @property
    def outputs(self) -> int:
        """Positions of the window."""
        return (self.padded - self.dilation * (self.taps - 1) - 1) // self.stride + 1

    def at(self, output: Expr, tap: Expr) -> Expr:
        """Where in the padded input a tap of an output's window is."""
        return output * self.stride + tap * self.dilation


def windows(
    where: str,
    sizes: Mapping[str, int],
    taps: Sequence[int],
    stride: Steps,
    padding: Padding,
    dilation: Steps,
) -> tuple[Window, ...]:
    """The windows of all dimensions.

    Args:
        where: the operator, for messages.
        sizes: the input's spatial dimensions by name.
        taps: how large the window is.
        stride, padding, dilation: as the operators take them.

    >>> [(w.before, w.after, w.outputs) for w in windows("conv", {"H": 7}, (3,), 2, "same", 1)]
    [(1, 1, 4)]

    Raises:
        DefinitionError: a number is not positive, of the wrong count, or the window is larger than what it slides over.
    """
    rank = len(sizes)
    strides, dilations = _each(where, "stride", stride, rank), _each(where, "dilation", dilation, rank)
    found = []
    for dim, (name, size) in enumerate(sizes.items()):
        if taps[dim] < 1:
            raise DefinitionError(
                f"{where}: a window of {taps[dim]} elements along {name}; it has at least 1"
            )
        plain = Window(size, taps[dim], strides[dim], dilations[dim])
        before, after = _padding(where, padding, plain, dim, rank)
        window = Window(size, taps[dim], strides[dim], dilations[dim], before, after)
        if window.outputs < 1 and size > 0:
            raise DefinitionError(
                f"{where}: the window spans {window.dilation * (window.taps - 1) + 1} elements along {name}, "
                f"which has {window.padded} with padding"
            )
        found.append(window)
    return tuple(found)


def _each(where: str, what: str, value: Steps, rank: int) -> tuple[int, ...]:
    values = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(values) != rank or any(not isinstance(v, int) or v < 1 for v in values):
        raise DefinitionError(
            f"{where}: {what}={value!r} is neither a positive number nor {rank} of them, one for each dimension"
        )
    return values


def _padding(where: str, padding: Padding, window: Window, dim: int, rank: int) -> tuple[int, int]:
    """Elements before and after; ``same`` has an output for every stride, the odd element after, as TensorFlow."""
    if padding == "valid":
        return 0, 0
    if padding == "same":
        outputs = -(-window.size // window.stride)
        span = window.dilation * (window.taps - 1) + 1
        total = max(0, (outputs - 1) * window.stride + span - window.size)
        return total // 2, total - total // 2
    pair = padding if isinstance(padding, int) else None
    if isinstance(padding, tuple) and len(padding) == rank:
        pair = padding[dim]  # type: ignore[assignment]
    both = (pair, pair) if isinstance(pair, int) else pair
    if not isinstance(both, tuple) or len(both) != 2 or any(not isinstance(n, int) or n < 0 for n in both):
        raise DefinitionError(
            f"{where}: padding={padding!r} is neither 'valid', 'same', a number, nor for each of {rank} dimensions "
            "a number or (before, after)"
        )
    return both


def channels_last(where: str, layout: str, rank: int) -> bool:
    """Whether the channels lie innermost.

    Raises:
        DefinitionError: there is no such layout.
    """
    last, first = LAYOUTS[rank]
    if layout not in (last, first):
        raise DefinitionError(f"{where}: unknown layout {layout!r}; there are {last} and {first}")
    return layout == last


def arranged(last: bool, batch: Any, spatial: Sequence[Any], channel: Any) -> tuple[Any, ...]:
    """A shape or an index in the order of the layout."""
    return (batch, *spatial, channel) if last else (batch, channel, *spatial)


def axis_names(last: bool, spatial: Sequence[str], channel: str) -> str:
    """Axes as ``compute`` takes them, in the order of the layout."""
    return " ".join(arranged(last, "n", spatial, channel))


def with_padding(
    x: Tensor, around: Sequence[Window], last: bool, names: Sequence[str], outside: Outside
) -> Tensor:
    """The stage ``padded``: the input and what lies outside it; the input itself where no padding is asked for."""
    if all(window.before == window.after == 0 for window in around):
        return x
    dims = [dim + (1 if last else 2) for dim in range(len(around))]
    shape, shifts = list(x.shape), [0] * len(x.shape)
    for dim, window in zip(dims, around, strict=True):
        shape[dim], shifts[dim] = window.padded, window.before
    bounded = outside(x, dims)

    def element(*axes: Axis) -> Expr:
        return bounded[
            tuple(axis - shift if shift else axis for axis, shift in zip(axes, shifts, strict=True))
        ]

    return compute("padded", tuple(shape), element, axes=axis_names(last, names, "c"))


def outside_of(where: str, name: str) -> Outside:
    """The boundary condition of that name.

    Raises:
        DefinitionError: there is none.
    """
    if name not in PADDING_MODES:
        raise DefinitionError(f"{where}: unknown padding_mode {name!r}; there are {', '.join(PADDING_MODES)}")
    return PADDING_MODES[name][0]


def pad_numpy(x: Array, around: Sequence[Window], **how: Any) -> Array:
    """The padded array, of an array with channels last."""
    return np.pad(x, [(0, 0), *((w.before, w.after) for w in around), (0, 0)], **how)


def slide_numpy(x: Array, around: Sequence[Window]) -> Array:
    """Views of a padded array with channels last: (batch, outputs ..., channels, taps ...)."""
    spatial = tuple(range(1, 1 + len(around)))
    spans = tuple(w.dilation * (w.taps - 1) + 1 for w in around)
    view = np.lib.stride_tricks.sliding_window_view(x, spans, spatial)
    steps = [slice(None), *(slice(None, None, w.stride) for w in around), slice(None)]
    return view[tuple(steps + [slice(None, None, w.dilation) for w in around])]
