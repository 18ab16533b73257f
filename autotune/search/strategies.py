"""The search strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.search.base import Search
from loopwright.autotune.search.evolve import EvolutionarySearch
from loopwright.autotune.search.grid import GridSearch
from loopwright.autotune.search.random import RandomSearch
from loopwright.autotune.space import SearchSpace
from loopwright.sched.errors import TuneError

# Makes a search of a space, with a seed.
Strategy = Callable[[SearchSpace, int], Search]
SEARCHES: dict[str, Strategy] = {
    "anneal": AnnealSearch,
    "evolve": EvolutionarySearch,
    "random": RandomSearch,
    "grid": GridSearch,
}


def strategy(search: object) -> Strategy:
    """The strategy of this name, or the user's own: a function of a space and a seed.

    Raises:
        TuneError: there is none of this name.

    Example:
        >>> strategy("random").__name__
        'RandomSearch'
    """
    if callable(search):
        return search
    if not isinstance(search, str) or search not in SEARCHES:
        names = ", ".join(map(repr, SEARCHES))
        raise TuneError(
            f"there is no search {search!r}; there are {names}, or a function of a space and a seed that gives one"
        )
    return SEARCHES[search]
