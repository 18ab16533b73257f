"""What makes it legal to store bytes with another sign: a copy of bytes, read by one sum of products alone."""

from __future__ import annotations

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Binary, Cast, Expr, Load, loads
from loopwright.sched.scheduling.nest import Nests, StageNest


def check_bytes(where: str, copy: StageNest) -> None:
    """There are bytes to store, and all of them are computed by the stage itself."""
    stage = copy.stage
    if stage.dtypes not in (("int8",), ("uint8",)) or stage.reduce is not None or stage.updating is not None:
        raise ScheduleError(
            f"{where}: {copy.name} is no copy of bytes (int8 or uint8); cache_read makes one, without dtype="
        )


def check_read_alone(where: str, nests: Nests, nest: StageNest, copy: StageNest) -> None:
    """Nobody but the sum that is corrected reads the bytes, and no caller."""
    reading = nests.consumers(copy.name)
    if copy.name in nests.outputs.values() or reading != [nest.name]:
        others = " and ".join(other for other in reading if other != nest.name) or "the caller"
        raise ScheduleError(
            f"{where}: {copy.name} is read by {others}, too, which would see other numbers; make {nest.name} a copy of "
            f"its own: cache_read({copy.name!r}, consumers=[{nest.name!r}])"
        )


def check_product(where: str, nest: StageNest, copy: StageNest) -> Expr:
    """The stage sums products of one of the bytes and something else, in integers that wrap; returns what else."""
    reduce = nest.stage.reduce
    if reduce is not None and reduce.op == "sum" and reduce.dtypes in (("int32",), ("uint32",)):
        value = reduce.value
        if (
            isinstance(value, Binary)
            and value.op == "mul"
            and len(nest.stage.bodies) == 1
            and nest.start is None
        ):
            for factor, rest in ((value.a, value.b), (value.b, value.a)):
                if _is_byte(factor, copy.name) and all(load.tensor.name != copy.name for load in loads(rest)):
                    return rest
    raise ScheduleError(
        f"{where}: {nest.name} is no sum, in int32 or uint32, of products of an element of {copy.name} and something else"
    )


def _is_byte(factor: Expr, name: str) -> bool:
    """Whether a factor is an element of the copy, perhaps widened."""
    while isinstance(factor, Cast) and dtypes.holds(factor.dtype, factor.value.dtype):
        factor = factor.value
    return isinstance(factor, Load) and factor.tensor.name == name


def byte(factor: Expr) -> Load:
    """The element of the copy in a factor that is one."""
    while isinstance(factor, Cast):
        factor = factor.value
    assert isinstance(factor, Load)
    return factor
