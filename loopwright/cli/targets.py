"""``loopwright targets``: what kernels can be built for, and the facts of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from loopwright.cli.options import OUT_FILE, require_writable, write_text
from loopwright.cli.tables import table


@click.group(short_help="List the targets, and what this machine is.", invoke_without_command=True)
@click.pass_context
def targets(context: click.Context) -> None:
    """List the targets, and this machine's facts as the tuner sees them.

    "cpu" is this host. Those that come with Loopwright go by their names: --target rpi5. For another machine, write its
    facts into a file and name that: --target server.toml; `loopwright targets detect`, run there, does it for you.
    """
    if context.invoked_subcommand is not None:
        return
    from loopwright.sched.runtime import targetfile
    from loopwright.sched.runtime.device import cuda_runtime
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
    click.echo(_rows(facts))
    device = described()
    click.echo(f"opencl: {NO_DEVICE if device is None else f'available; {device}'}")
    missing = cuda_runtime.obstacle()
    click.echo(f"cuda: {f'source only; {missing}' if missing else f'available; {cuda_runtime.described()}'}")
    for kind in DEVICE_KINDS[2:]:
        click.echo(f"{kind}: source only")
    click.echo("by name, for builds and measurements elsewhere:")
    click.echo(_rows([[name, targetfile.about(name)] for name in targetfile.names()]))


@targets.command(short_help="Print a target file.")
@click.argument("name")
def show(name: str) -> None:
    """Print the target file NAME, one that comes with Loopwright or a path, after a line that says what it comes to.

    \b
      loopwright targets show rpi5 > my_board.toml
    """
    from loopwright.sched.runtime import targetfile
    from loopwright.sched.runtime.target import Target

    path = Path(name) if name.endswith(".toml") else targetfile.find(name)
    click.echo(f"# {Target.parse(path)}")
    click.echo(path.read_text(encoding="utf-8").rstrip())


@targets.command(short_help="Write this machine's target file.")
@click.argument("kind", type=click.Choice(("cpu", "opencl", "cuda")), default="cpu")
@click.option("-o", "--out", type=OUT_FILE, help="The file to write, instead of printing it.")
def detect(kind: str, out: Path | None) -> None:
    """Write a target file for this machine: its CPU, its first OpenCL device, or its NVIDIA GPU.

    \b
      loopwright targets detect -o server.toml
      loopwright targets detect opencl
    """
    from loopwright.autotune.measure.hosts import measured_on
    from loopwright.sched.errors import TargetError
    from loopwright.sched.runtime import targetfile
    from loopwright.sched.runtime.device import cuda_runtime
    from loopwright.sched.runtime.device.opencl import NO_DEVICE, described
    from loopwright.sched.runtime.target import Target

    here: dict[str, Callable[[], Target | None]] = {"opencl": described, "cuda": cuda_runtime.described}
    found = here[kind]() if kind in here else Target.parse(kind)
    if found is None:
        raise TargetError(NO_DEVICE if kind == "opencl" else str(cuda_runtime.obstacle()))
    text = targetfile.written(found, found.mcpu if kind == "opencl" else measured_on(found))
    if out is None:
        click.echo(text)
        return
    require_writable(out)
    write_text(out, text + "\n")
    click.echo(f"wrote {out}: {found}")


def _rows(rows: list[list[str]]) -> str:
    lines = table(["name", "fact"], rows, left=["name", "fact"]).splitlines()[1:]
    return "\n".join(f"    {line}" for line in lines)
