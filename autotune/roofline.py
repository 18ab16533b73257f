"""The roofline model: what a machine can do at most, and how near a kernel comes to it.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 2009; with a bandwidth for each cache, as in Ilic, Pratas and Sousa, "Cache-aware roofline
model: upgrading the loft", IEEE Computer Architecture Letters 13(1), 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.language.operations import Demand

MEMORY = "memory"
LEVELS = ("L1", "L2", "L3", MEMORY)
"""Where the data of a kernel may lie, fastest first."""


@dataclass(frozen=True)
class Roofs:
    """The limits of a machine, on all cores that a target has.

    Attributes:
        flops: dtype -> operations a second.
        bandwidth: of :data:`LEVELS`, those that are known -> bytes a second.
        capacity: cache -> bytes that it holds, of all cores together; a cache that is not here is taken for none.
        source: where the figures come from, in words.
    """

    flops: Mapping[str, float] = field(default_factory=dict)
    bandwidth: Mapping[str, float] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)
    source: str = ""

    def level(self, size: int, cold: bool = False) -> str:
        """Where so many bytes lie between calls: in the first cache that holds them; in memory where caches are emptied."""
        fitting = (name for name in LEVELS if name in self.bandwidth and size <= self.capacity.get(name, 0))
        return MEMORY if cold else next(fitting, MEMORY)

    def least_seconds(self, demand: Demand, cold: bool = False) -> float | None:
        """The time below which no kernel can compute what is demanded; None if no limit of it is known.

        >>> roofs = Roofs({"float32": 1e11}, {"memory": 1e10})
        >>> roofs.least_seconds(Demand(operations=1000, bytes=1000, dtype="float32"))
        1e-07
        """
        times = []
        flops = self.flops.get(computed_in(demand.dtype))
        bandwidth = self.bandwidth.get(self.level(demand.bytes, cold))
        if flops is not None:
            times.append(demand.operations / flops)
        if bandwidth is not None:
            times.append(demand.bytes / bandwidth)
        return max(times, default=0.0) or None

    def to_json(self) -> dict[str, Any]:
        """A plain value; ``Roofs(**value)`` restores it."""
        return {
            "flops": dict(self.flops),
            "bandwidth": dict(self.bandwidth),
            "capacity": dict(self.capacity),
            "source": self.source,
        }


def computed_in(dtype: str) -> str:
    """The type that a CPU computes in: narrow floats become float32 first.

    >>> computed_in("bfloat16"), computed_in("float64")
    ('float32', 'float64')
    """
    return "float32" if dtype in dtypes.NARROW or dtype == "float16" else dtype
