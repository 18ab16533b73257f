"""What a peer is given for a row, and what it answers. These files need NumPy and the peer's library, not Loopwright."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Given:
    """A row, as a peer sees it.

    Attributes:
        arrays: its inputs; those of bfloat16 as uint16, their bits.
        options: the arguments of its workload, such as ``stride`` and ``layout``.
        threads: how many the peer may use.
    """

    arrays: list[Array]
    options: dict[str, Any]
    threads: int

    @property
    def dtype(self) -> str:
        """The dtype of the first operand."""
        return str(self.options.get("dtype", self.arrays[0].dtype))

    def of_floats(self) -> bool:
        """Whether all is in float32."""
        return self.dtype == "float32"


@dataclass(frozen=True)
class Way:
    """A way of a library to compute a row.

    Attributes:
        run: computes it once, to the end; this is what is timed.
        array: makes an array in the row's layout of what ``run`` returned.
        slack: how far an element may be off, beside rounding, where the library's operation is defined otherwise.
    """

    run: Callable[[], Any]
    array: Callable[[Any], Array] = np.asarray
    slack: float = 0.0


# Each way of a row by its name, to be made when it is tried: what a library lacks today raises then.
Ways = dict[str, Callable[[], Way]]
Prepare = Callable[[Given], Ways]
