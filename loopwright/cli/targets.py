"""``loopwright targets``: what kernels can be built for, and the facts of this host."""

from __future__ import annotations

import click

from loopwright.cli.tables import table


@click.command(short_help="List the targets, and what this machine is.")
def targets() -> None:
    """List the targets, and this machine's facts as the tuner sees them.

    "cpu" is this host. For another machine, put its facts into a file and name that: --target server.toml, with
    lines such as mcpu = "znver4" and cores = 16.
    """
    from loopwright.sched.runtime.device.opencl import NO_DEVICE, described
    from loopwright.sched.runtime.target import DEVICE_KINDS, Target

    host = Target.parse("cpu")
    click.echo("cpu: available; this host is")
    facts = [
        ["processor", host.mcpu],
        ["cores", str(host.cores)],
        ["vectors", f"{host.vector_bytes} bytes, {host.registers} registers"],
        ["caches", ", ".join(f"L{n} {size // 1024} KiB" for n, size in enumerate(host.caches, 1))],
        ["features", " ".join(host.features) or "none that matter here"],
    ]
    rows = table(["", "fact"], facts, left=["", "fact"]).splitlines()[1:]
    click.echo("\n".join(f"    {row}" for row in rows))
    device = described()
    click.echo(f"opencl: {NO_DEVICE if device is None else f'available; {device}'}")
    for kind in DEVICE_KINDS[1:]:
        click.echo(f"{kind}: source only")
