"""The cost models by name, and from files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from loopwright.autotune.cost_model import CostModel
from loopwright.autotune.model import AnalyticModel, Model, RandomModel, XGBModel
from loopwright.sched.errors import TuneError
from loopwright.sched.runtime.target import Target

# Makes a cost model, with a seed.
Maker = Callable[[int], Model]
# What may be said where a cost model is wanted.
ModelLike = str | os.PathLike[str] | CostModel | Maker
MODELS: dict[str, Maker] = {
    "xgboost": XGBModel,
    "analytic": lambda seed: AnalyticModel(),
    "random": RandomModel,
}


def model_maker(model: object, target: Target) -> Maker:
    """The cost model of this name or in this file, or the user's own: a function of a seed.

    Raises:
        TuneError: there is none of this name, the file has none, or one for targets of another kind.

    Example:
        >>> model_maker("analytic", Target.parse("cpu"))(0).ready
        True
    """
    if isinstance(model, str) and model in MODELS:
        return MODELS[model]
    if isinstance(model, (str, os.PathLike)) and Path(model).exists():
        model = CostModel.load(model)
    if isinstance(model, CostModel):
        known = model
        known.require(target)
        return lambda seed: XGBModel(seed, base=known)
    if callable(model):
        return model
    names = ", ".join(map(repr, MODELS))
    raise TuneError(
        f"model={model!r}: there is no such cost model and no such file; there are {names}, a file that save_model= wrote, "
        "or a function of a seed that gives one"
    )
