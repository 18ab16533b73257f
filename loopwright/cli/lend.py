"""``loopwright lend``: this machine as a device that tuners elsewhere measure on."""

from __future__ import annotations

import click


@click.command(short_help="Lend this machine to tuners elsewhere.")
@click.option("--tracker", required=True, metavar="HOST:PORT", help="Where the tracker listens.")
@click.option("--key", required=True, help="What to be lent as: a name for all machines of this kind.")
@click.option(
    "--host",
    default="",
    help="The address that tuners reach this machine by, if not the tracker's view of it.",
)
def lend(tracker: str, key: str, host: str) -> None:
    """Run what tuners elsewhere send, one at a time, until interrupted.

    They find this machine through a tracker of TVM's. A candidate that crashes ends no more than its own session. Only those
    who may run code here should reach the tracker and this machine: there is no password.

    \b
      python -m tvm.exec.rpc_tracker --host 0.0.0.0 --port 9190                     on one machine of the farm
      loopwright lend --tracker farm:9190 --key rpi5                                on each device
      loopwright tune ops.softmax M=64 N=512 --target rpi5 \\
          --device rpc://farm:9190/rpi5 --trials 100 --log rpi5.jsonl               where you are
    """
    from loopwright.autotune.measure.lend import lend as serve
    from loopwright.autotune.measure.rpc import Farm
    from loopwright.sched.errors import TuneError

    try:
        farm = Farm.parse(f"rpc://{tracker}/{key}")
    except TuneError:
        raise click.UsageError(
            f"--tracker {tracker} --key {key}: expected HOST:PORT and a plain name"
        ) from None
    serve((farm.host, farm.port), farm.key, host, click.echo)
