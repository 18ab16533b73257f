"""A cost model as a thing of its own: learnt from a log, kept in a file, handed to runs that do not have that log.

The file is XGBoost's own JSON, so other programs read it too; nothing is pickled. An attribute in it, ``loopwright``, says what
the trees were fitted to. Features that have come to mean something else would make predictions silently wrong: such a file is
refused by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.autotune.features.program import NAMES
from loopwright.autotune.log import TuningLog
from loopwright.autotune.log_read import reason_of
from loopwright.autotune.model import FEWEST, XGBModel
from loopwright.autotune.search.base import scored
from loopwright.autotune.transfer import VERSION, every_lesson
from loopwright.sched.errors import TuneError, path_of
from loopwright.sched.runtime.target import Target

Array = np.ndarray[Any, Any]
PathLike = str | os.PathLike[str]

SCHEMA = 2
"""The version of what the trees predict and of what the attribute ``loopwright`` holds."""


@dataclass(frozen=True)
class Origin:
    """What a model was fitted to.

    Attributes:
        target: the target, in its JSON form.
        operators: the names of the operators that the trials computed.
        trials: how many they were.
        features: the version of the features.
        v: the version of this description.
    """

    target: dict[str, Any]
    operators: tuple[str, ...]
    trials: int
    features: int = VERSION
    v: int = SCHEMA


@dataclass(frozen=True)
class CostModel:
    """Ranks candidates of any workload by what other trials have shown.

    It knows the features that mean the same for every workload, and nothing of knobs. :func:`~loopwright.tune` begins with
    it (``model=``), and goes on learning from what it measures.

    Example::

        lw.CostModel.fit("tuned.jsonl").save("model.json")
        lw.tune(ops.matmul(M=384, N=384, K=384), trials=100, model="model.json")
    """

    booster: Any
    origin: Origin

    @classmethod
    def fit(cls, log: PathLike | TuningLog, target: object = "cpu", seed: int = 0) -> CostModel:
        """Learn from all trials of a log, of whatever workloads, on targets of the kind of ``target``.

        Trials are compared with those of the same workload and target only.

        Args:
            log: the tuning log.
            target: what for.
            seed: the same seed and the same log give the same model.

        Raises:
            TuneError: there are too few trials to learn from.
            LogError: the log cannot be read, or is none.
        """
        parsed = Target.parse(target)
        opened = log if isinstance(log, TuningLog) else TuningLog(log)
        records = opened.records()
        lessons = every_lesson(parsed, records)
        model = XGBModel(seed)
        if lessons:
            rows = np.concatenate([lesson.rows for lesson in lessons])
            scores = np.concatenate([scored(lesson.times) for lesson in lessons])
            model.fit(rows, scores)
        trials = sum(len(lesson.rows) for lesson in lessons)
        if model.booster is None:
            raise TuneError(
                f"{opened.path} has {trials} trials for {parsed.kind} that a cost model can learn from: "
                f"at least {FEWEST} are needed, of different times"
            )
        operators = {r.name for r in records if r.features is not None and r.target["kind"] == parsed.kind}
        return cls(model.booster, Origin(parsed.to_json(), tuple(sorted(operators)), trials))

    @classmethod
    def load(cls, path: PathLike) -> CostModel:
        """Read a model from a file.

        Raises:
            TuneError: the file cannot be read, is no cost model, or was fitted to other features than this version computes.
        """
        import xgboost

        path = path_of(path, "cost model", TuneError)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise TuneError(f"the cost model {path} cannot be read: {reason_of(error)}") from None
        origin = _origin_in(data, path)
        booster = xgboost.Booster()
        try:
            booster.load_model(bytearray(data))
        except xgboost.core.XGBoostError as error:
            why = str(error).strip().splitlines()[0]
            raise TuneError(f"{path}: XGBoost {xgboost.__version__} cannot read this model: {why}") from None
        if tuple(booster.feature_names or ()) != NAMES:
            raise _stale(path, "other features")
        return cls(booster, origin)

    def save(self, path: PathLike) -> None:
        """Write the model to a file, as a whole or not at all.

        Raises:
            TuneError: the file cannot be written, or there is one already that is no cost model.
        """
        path = writable(path)
        self.booster.feature_names = list(NAMES)
        self.booster.set_attr(loopwright=json.dumps(asdict(self.origin)))
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(self.booster.save_raw("json"))
            temporary.replace(path)
        except OSError as error:
            raise _unwritable(path, reason_of(error)) from None
        finally:
            with suppress(OSError):
                temporary.unlink()

    def predict(self, rows: Array) -> Array:
        """Scores of candidates: how near each is to the best of its workload.

        Args:
            rows: a row of features for each, as :meth:`loopwright.autotune.space.SearchSpace.rows` gives them.
        """
        known = np.ascontiguousarray(rows[:, : len(NAMES)], np.float32)
        margins: Array = self.booster.inplace_predict(known, predict_type="margin", missing=float("nan"))
        return margins

    def require(self, target: Target) -> None:
        """Refuse to serve a target of another kind.

        Raises:
            TuneError: the model was fitted on one.
        """
        kind = self.origin.target["kind"]
        if kind != target.kind:
            raise TuneError(f"this cost model was fitted on a target of the kind {kind}, not {target.kind}")


def writable(path: PathLike) -> Path:
    """A path that a model can be written to, as far as can be known before.

    Raises:
        TuneError: there is no such folder, it cannot be written to, or there is a file that is no cost model.
    """
    path = path_of(path, "save_model", TuneError)
    if path.exists():
        if not path.is_file():
            raise _unwritable(path, "it is no regular file")
        try:
            _attribute_in(path.read_bytes(), path)
        except (TuneError, OSError):
            raise _unwritable(path, "there is a file of this name that is no cost model") from None
    if not path.parent.is_dir():
        raise _unwritable(path, f"there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise _unwritable(path, f"nothing can be written to {path.parent}")
    return path


def _attribute_in(data: bytes, path: Path) -> Mapping[str, Any]:
    """What the attribute of a model's file says, of whatever version."""
    try:
        attributes = json.loads(data)["learner"]["attributes"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise TuneError(f"{path} is no cost model: it is not a model in XGBoost's JSON") from None
    try:
        about = json.loads(attributes["loopwright"])
    except (ValueError, LookupError, TypeError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise TuneError(
            f"{path} is a model of XGBoost's, but no cost model: it does not say what it was fitted to"
        )
    return about


def _origin_in(data: bytes, path: Path) -> Origin:
    about = _attribute_in(data, path)
    if about.get("v") != SCHEMA:
        raise _stale(path, f"a description of version {about.get('v')!r}, not {SCHEMA}")
    if about.get("features") != VERSION:
        raise _stale(path, f"features of version {about.get('features')!r}, not {VERSION}")
    try:
        target, operators, trials = about["target"], about["operators"], about["trials"]
        Target.from_json(target)
        return Origin(target, tuple(operators), int(trials))
    except (LookupError, TypeError, ValueError):
        raise TuneError(f"{path} is no cost model: it does not say on what target it was fitted") from None


def _stale(path: Path, has: str) -> TuneError:
    return TuneError(
        f"the cost model {path} is of another version of Loopwright: it has {has}; fit it anew from its log"
    )


def _unwritable(path: Path, why: str) -> TuneError:
    return TuneError(f"the cost model cannot be written to {path}: {why}")
