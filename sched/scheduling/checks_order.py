"""What keeps the terms of a reduction in the order written, where its reducer says that they do not commute."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import StageNest
from loopwright.sched.scheduling.order import written_order


def check_written_order(where: str, nest: StageNest) -> None:
    """The reduction loops run through the terms in the order written: other loops may stand between them."""
    keeping = _ordered_reducer(nest)
    if keeping is None:
        return
    wanted = written_order(nest)
    if [loop.name for loop in nest.loops if loop.reduce] != wanted:
        raise ScheduleError(
            f"{where}: {keeping} combines its terms in the order written (commutative=False);\n"
            f"the reduction loops of {nest.name} stay in the order {' '.join(map(shown, wanted))}"
        )


def check_commutes(where: str, nest: StageNest) -> None:
    """Partial results are combined in another order than the terms."""
    keeping = _ordered_reducer(nest)
    if keeping is not None:
        raise ScheduleError(
            f"{where}: {keeping} combines its terms in the order written (commutative=False);\n"
            "partial results would be combined in another"
        )


def _ordered_reducer(nest: StageNest) -> str | None:
    """The name of a reducer whose terms do not commute."""
    return next((reducer.name for reducer in nest.stage.reducers if not reducer.commutative), None)
