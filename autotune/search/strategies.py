"""The search strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.search.base import Search
from loopwright.autotune.search.evolve import EvolutionarySearch
from loopwright.autotune.search.grid import GridSearch
from loopwright.autotune.search.models import model_maker
from loopwright.autotune.search.random import RandomSearch
from loopwright.autotune.space import SearchSpace
from loopwright.sched.errors import TuneError
from loopwright.sched.runtime.target import Target

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


def guided(search: object, model: object, target: Target) -> Strategy:
    """The strategy of this name, asking this cost model; None: the one that it asks anyway, if it asks any.

    Raises:
        TuneError: there is no such strategy or no such model, or the strategy asks none.
    """
    if model is None:
        return strategy(search)
    if search != "anneal":
        raise TuneError(
            f"model={model!r}: only search='anneal' asks a cost model, and this is search={search!r}"
        )
    make = model_maker(model, target)
    return lambda space, seed: AnnealSearch(space, seed, make(seed))
