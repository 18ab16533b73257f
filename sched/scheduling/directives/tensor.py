"""The directive that lets an intrinsic stand for inner loops: tensorize."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.errors import ScheduleError
from loopwright.sched.intrinsics.registry import find
from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_loop, loop_index
from loopwright.sched.scheduling.checks_place import check_kinds
from loopwright.sched.scheduling.checks_update import check_not_update
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.placement import vectors_innermost


def tensorize(nests: Nests, loop: str, intrinsic: str) -> Nests:
    """Let an intrinsic do what stands from a loop inwards. The loops must be what its definition says, to the element.

    Where a split leaves a shorter tail, that is ordinary code.

    Before::

        for i in 128:
            for jo in 16:
                for ko in 64:
                    for ji in 8:
                        for ki in 2:
                            C[i, jo*8 + ji] += int32(A[i, ko*2 + ki]) * int32(B[ko, jo*8 + ji, ki])

    After ``tensorize("C.ji", "avx2.dot8x2.i16")``, which computes ``out[i] += int32(a[k]) * int32(b[i, k])``::

        for i in 128:
            for jo in 16:
                for ko in 64:
                    C[i, jo*8 : jo*8+8] = vpmaddwd(...)
    """
    where = f"tensorize {loop}"
    nest, first = find_loop(nests, loop, where)
    check_not_update(where, nest, "and intrinsics compute definitions")
    name = find(intrinsic, where).name
    position = loop_index(nest, first.name)
    for inner in nest.loops[position:]:
        checks.check_serial(where, nest, inner)
    checks_rewrite.check_no_vector(where, nest)
    loops = tuple(replace(x, kind="tensorize") if n >= position else x for n, x in enumerate(nest.loops))
    result = nests.with_stage(nest.with_(loops=loops, tensor=(first.name, name)))
    check_kinds(where, result)
    return result


def check_intrinsics(where: str, nests: Nests) -> None:
    """Refuse nests in which an intrinsic does not fit the loops that it stands for: asked again whenever something changes."""
    from loopwright.sched.lowering.loopnest import build

    tensorized = [nest for nest in nests.stages.values() if nest.tensor is not None]
    for nest in tensorized:
        checks_rewrite.check_tensor_innermost(where, nest)
    if tensorized:
        try:
            build(vectors_innermost(nests))
        except ScheduleError as error:
            said = str(error)
            raise ScheduleError(said if said.startswith(where) else f"{where}: {said}") from None
