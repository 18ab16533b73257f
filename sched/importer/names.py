"""Names of stages and axes: TVM's own where they are legal and unique, else derived from them."""

from __future__ import annotations

import re
from collections.abc import Iterable


def legal(name: str, otherwise: str) -> str:
    """``name`` with every character replaced that no name of ours may hold (``T_softmax.local``, ``i.j_fused``)."""
    text = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or otherwise
    return text if not text[0].isdigit() else f"_{text}"


class Names:
    """Hands out names, each only once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def take(self, wanted: Iterable[str], otherwise: str) -> str:
        """The first of the wanted names that is free; else the first of them with a number."""
        options = [legal(name, otherwise) for name in wanted] or [otherwise]
        numbered = (f"{options[0]}_{n}" for n in range(1, len(self.taken) + 2))
        name = next(name for name in (*options, *numbered) if name not in self.taken)
        self.taken.add(name)
        return name


def axis_name(iter_name: str, loop_name: str | None) -> str:
    """A block's ``v_i`` or ``vi``, bound to the loop ``i``, is the axis ``i``."""
    if loop_name is not None:
        return loop_name
    return iter_name[2:] if iter_name.startswith("v_") and len(iter_name) > 2 else iter_name
