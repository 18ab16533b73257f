"""``loopwright tune``: find schedules and keep them in a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from loopwright.cli.options import (
    log_option,
    objective_option,
    operator_arguments,
    target_option,
    workload_options,
)
from loopwright.cli.records import records_table
from loopwright.cli.tables import causes_text, table

if TYPE_CHECKING:
    from loopwright.autotune.front import Named
    from loopwright.autotune.record import Record
    from loopwright.bench.compare import Comparison, Item
    from loopwright.cli.watch import Watch
    from loopwright.sched.runtime.target import Target

INTERRUPTED = 130
NOTHING_FOUND = 1
SEARCHES = ("anneal", "evolve", "random", "grid")
"""Those of ``autotune/search/strategies.py``, which takes long to import."""
ROUNDS = 7
"""Of default against tuned, for the table at the end."""


@click.command(short_help="Find fast schedules, and keep them in a log.")
@operator_arguments(required=False)
@workload_options
@target_option
@click.option(
    "--device",
    metavar="URL",
    help="Where to measure, if not here: rpc://HOST:PORT/KEY, devices that a tracker lends. See docs/remote.md.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Tune on the workers of a Dask cluster: tcp://HOST:PORT, its scheduler. See docs/remote.md.",
)
@click.option(
    "--trials",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many trials the log shall have of each workload.",
)
@click.option(
    "--more", metavar="N", type=click.IntRange(min=1), help="How many trials to add for each workload."
)
@click.option(
    "--minutes", metavar="X", type=click.FloatRange(min=0, min_open=True), help="How long to tune, in all."
)
@click.option(
    "--patience",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop when N trials in a row have not improved a workload by 1%.",
)
@objective_option(
    ("time", "memory", "both"),
    "What to search for: the least time; the least memory at no more than twice the least time; or all schedules that no other "
    "one beats in both.",
)
@click.option("--cold", is_flag=True, help="Empty the caches before each timed call.")
@click.option(
    "--spread",
    metavar="X",
    type=click.FloatRange(min=0, min_open=True),
    help="Time the best of each batch until their three least samples lie within X of each other (0.01: 1%).",
)
@log_option("The tuning log: what it holds is used, and what is found is added.", required=True)
@click.option(
    "--search",
    type=click.Choice(SEARCHES),
    default=SEARCHES[0],
    show_default=True,
    help="How candidates are chosen: annealing by a cost model, evolution, at random, or each in order.",
)
@click.option(
    "--model",
    metavar="NAME|FILE",
    help="What ranks candidates: xgboost (the default), analytic, random, or a file that --save-model wrote.",
)
@click.option("--save-model", metavar="FILE", help="Write what all trials of the log teach to a file.")
@click.option(
    "--seed", default=0, show_default=True, help="The same seed and the same times: the same choices."
)
def tune(
    operator: str | None,
    arguments: tuple[str, ...],
    workloads: str | None,
    only: tuple[str, ...],
    target: str,
    device: str | None,
    cluster: str | None,
    trials: int | None,
    more: int | None,
    minutes: float | None,
    patience: int | None,
    objective: Named,
    cold: bool,
    spread: float | None,
    log: Path,
    search: str,
    model: str | None,
    save_model: str | None,
    seed: int,
) -> int:
    """Search for the fastest schedule of OPERATOR on this machine, or on devices elsewhere, and keep every trial in a log.

    --trials 200 means that the log shall have 200 trials of the workload for this target: after an interruption the
    same command does the rest, and run once more it does nothing. Ctrl-C ends the run; what was found is kept.
    With --workloads, a whole set is tuned and shares the time.

    \b
      loopwright tune my_ops.py:matmul M=512 N=512 K=512 --trials 200 --log tuned.jsonl
      loopwright tune --workloads bert-base --minutes 10 --log bert.jsonl
      loopwright tune ops.softmax M=64 N=512 --target rpi5 --device rpc://farm:9190/rpi5 --trials 100 --log rpi5.jsonl
    """
    from loopwright.autotune.measure.task import Repeats
    from loopwright.cli.pick import pick_items
    from loopwright.cli.watch import Watch
    from loopwright.sched.runtime.target import Target

    items = pick_items(operator, arguments, workloads, only)
    if trials is None and more is None and minutes is None:
        raise click.UsageError("say how long to tune: --trials N, --more N or --minutes X")
    if trials is not None and more is not None:
        raise click.UsageError(
            "--trials is how many there shall be, --more how many to add: give one of them"
        )
    if cluster is not None and (patience is not None or save_model is not None):
        raise click.UsageError("--patience and --save-model are for runs on one machine, not for --cluster")
    on = Target.parse(target)
    watch = Watch(minutes, len(items))
    try:
        with watch:
            _search(
                items,
                on,
                watch,
                log,
                device=device,
                cluster=cluster,
                trials=trials,
                more=more,
                minutes=minutes,
                patience=patience,
                objective=objective,
                cold=cold,
                repeats=None if spread is None else Repeats(spread),
                search=search,
                model=model,
                save_model=save_model,
                seed=seed,
            )
    except KeyboardInterrupt:
        click.echo(
            f"interrupted; {watch.summary()}, all in {log}: the same command goes on from there", err=True
        )
        return INTERRUPTED
    click.echo(f"{watch.summary()}; the log is {log}")
    found = [item for item in items if watch.tally(item.work).best is not None]
    # Elsewhere, default and tuned schedule have been raced by the tuner only.
    compared = _measured(found, on, log, objective) if device is None and cluster is None else {}
    click.echo(_table(items, watch, compared))
    if objective != "time":
        click.echo(records_table(_asked_for(items, on, log, objective)))
    _show_deployment(items, operator, target, log, objective)
    return 0 if found else NOTHING_FOUND


def _search(
    items: Sequence[Item], target: Target, watch: Watch, log: Path, *, cluster: str | None, **how: Any
) -> None:
    """Tune one workload, or several that share the time, or a cluster."""
    if cluster is not None:
        from loopwright.autotune.cluster import tune_on_cluster

        for name in ("patience", "save_model"):
            del how[name]
        tune_on_cluster([item.work for item in items], cluster, target, log=log, progress=watch, **how)
    elif len(items) == 1:
        from loopwright.autotune.tune import tune as search

        search(items[0].work, target, log=log, progress=watch, **how)
    else:
        from loopwright.autotune.tune_many import tune_many

        named = [(item.name, item.work, item.weight) for item in items]
        tune_many(named, target, log=log, progress=watch, **how)


def _asked_for(items: Sequence[Item], target: Target, log: Path, objective: Named) -> list[Record]:
    """The records that the objective asks for, of each workload in turn."""
    from loopwright.autotune.front import chosen, timed
    from loopwright.autotune.log import TuningLog

    records = TuningLog(log).records(None, target)
    keys = dict.fromkeys(item.work.key for item in items)
    return [r for key in keys for r in chosen(timed(r for r in records if r.workload == key), objective)]


def _measured(items: Sequence[Item], target: Target, log: Path, objective: Named) -> dict[str, Comparison]:
    """Default and tuned schedule side by side, by the workload's key; of a front, the fastest."""
    from loopwright.bench.compare import compare
    from loopwright.cli.status import status_line

    done: dict[str, Comparison] = {}
    with status_line(len(items)) as status:
        taken: Named = "memory" if objective == "memory" else "time"
        for comparison in compare(
            items, target, log, rounds=ROUNDS, numpy=False, objective=taken, report=status.say
        ):
            done[comparison.item.work.key] = comparison
            status.advance()
    return done


def _table(items: Sequence[Item], watch: Watch, measured: Mapping[str, Comparison]) -> str:
    from loopwright.autotune.lookup import seconds_text
    from loopwright.autotune.report.labels import short_labels

    labels, shared = short_labels([(item.work.name, item.work.args) for item in items])
    headers = ["name", "workload", "default", "tuned", "speed-up", "trials", "failed"]
    rows = []
    for label, item in zip(labels, items, strict=True):
        tally, found = watch.tally(item.work), measured.get(item.work.key)
        times = ["-", "-", "-"]
        if found is not None and found.tuned:
            gain = median(found.ratios("default", "tuned"))
            times = [
                seconds_text(found.seconds("default")),
                seconds_text(found.seconds("tuned")),
                f"{gain:.2f}",
            ]
        rows.append([item.name, label, *times, str(tally.trials), causes_text(tally.failures) or "0"])
    if not any(item.name for item in items):
        headers, rows = headers[1:], [row[1:] for row in rows]
    lines = [table(headers, rows, left=("name", "workload", "failed"))]
    return "\n".join([*lines, *(f"all of {text}" for text in shared)])


def _show_deployment(
    items: Sequence[Item], operator: str | None, target: str, log: Path, objective: Named
) -> None:
    """The line of code, and the commands, that use what was found."""
    if len(items) != 1 or operator is None:
        return
    smallest = ', objective="memory"' if objective == "memory" else ""
    on = "" if target == "cpu" else f', target="{target}"'
    click.echo(f'in Python: loopwright.build({items[0].work}{on}, log="{log}"{smallest})')
