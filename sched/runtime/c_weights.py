"""Kernels with weights as functions of C: one packs the weights into a block of memory, the other takes that block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from loopwright.sched.runtime.c_entry import BAD_ARRAY, DONE, NO_MEMORY
from loopwright.sched.runtime.c_source import CFunction, c_type, identifier
from loopwright.sched.runtime.dlpack import ALIGNMENT
from loopwright.sched.runtime.signature import OUTPUT, WEIGHT, Param
from loopwright.sched.runtime.weights import Prepacking, layout_of

# The block begins with so many bytes that say what it was packed for.
DIGEST = 16


@dataclass(frozen=True)
class WeightedFunction(CFunction):
    """A kernel with weights as two functions of a C library.

    Attributes:
        prepacking: how it has them packed; None if it takes them as they are.
    """

    prepacking: Prepacking | None = None

    @property
    def macro(self) -> str:
        """What says how many bytes the block has."""
        return f"{self.name.upper()}_PACKED_BYTES"

    @cached_property
    def packed(self) -> str:
        """What the block is called."""
        return identifier("packed", {self.name, *self.names.values()})

    @property
    def parameters(self) -> str:
        """As of others, with the block where the first weight stands, for all of them."""
        sizes = [f"int64_t {self.names[size[1]]}" for size in self.signature.sizes]
        first = self.signature.weights[0]
        arrays = [
            f"const void *{self.packed}" if p is first else self._declared(p)
            for p in self.signature.in_call_order
            if p.role != WEIGHT or p is first
        ]
        return ", ".join([*sizes, *arrays])

    def _declared(self, param: Param) -> str:
        constant = "" if param.role == OUTPUT else "const "
        return f"{constant}{c_type(param.dtype)} *{self.names[param.name]}"

    @property
    def packing(self) -> str:
        """The declaration of the function that packs, without the semicolon."""
        weights = ", ".join(map(self._declared, self.signature.weights))
        return f"int {self.name}_prepack({weights}, void *{self.packed})"

    @cached_property
    def places(self) -> list[int]:
        """Where in the block the weights are that the kernel reads as they are, then where the packed arrays are; and its end."""
        found = [ALIGNMENT]
        for param in (*self._kept, *self._made):
            found.append(found[-1] + -(-param.nbytes // ALIGNMENT) * ALIGNMENT)
        return found

    @property
    def size(self) -> int:
        """The bytes of the block."""
        return self.places[-1]

    @property
    def _kept(self) -> list[Param]:
        entry = self.signature if self.prepacking is None else self.prepacking.entry
        return [p for p in entry.inputs if p.role == WEIGHT]

    @property
    def _made(self) -> tuple[Param, ...]:
        return () if self.prepacking is None else self.prepacking.pack.outputs

    def declarations(self) -> str:
        """What the header says of the block, before the kernel's own function."""
        return (
            f"/* Packs the weights for {self.name}, once for many calls, into a block of {self.macro} bytes\n"
            f"   at a multiple of {ALIGNMENT}. To {self.name}, a block of another kernel is LOOPWRIGHT_BAD_ARRAY. */\n"
            f"#define {self.macro} INT64_C({self.size})\n{self.packing};\n"
        )

    def source(self) -> str:
        """The two functions, and the entries they call."""
        digest = sha256(layout_of(self.signature, self.prepacking).encode()).digest()[:DIGEST]
        entry = self.prepacking.entry if self.prepacking is not None else self.signature
        sizes = [self.names[size[1]] for size in self.signature.sizes]
        others = len(entry.inputs) - len(self._made)  # the packed arrays come last
        held = iter(f"(const char *){self.packed} + {place}" for place in self.places)
        inputs = [
            next(held) if p.role == WEIGHT or nth >= others else self.names[p.name]
            for nth, p in enumerate(entry.inputs)
        ]
        arguments = [*sizes, *inputs, *(self.names[p.name] for p in entry.outputs)]
        return (
            "#include <string.h>\n"
            f"static const unsigned char loopwright_layout[{DIGEST}] = {{ {', '.join(map(str, digest))} }};\n"
            f"{self.declared_entry(self.entry, len(sizes), len(arguments) - len(sizes))}"
            f"{self._packing_source()}\n"
            f"{self.prototype}\n{{\n{self.begun()}"
            f"    if (!{self.packed} || (uintptr_t){self.packed} % {ALIGNMENT} || "
            f"memcmp({self.packed}, loopwright_layout, {DIGEST})) return {BAD_ARRAY};\n"
            f"{self.ended(self.entry, arguments)}}}\n"
        )

    def _packing_source(self) -> str:
        """The function that packs; what it refuses, it has not touched."""
        weights = self.signature.weights
        bad = "".join(f" || {refused}" for p in weights if p.nbytes for refused in [self._refused(p)])
        copies = "".join(
            f"    memcpy((char *){self.packed} + {place}, {self.names[p.name]}, {p.nbytes});\n"
            for p, place in zip(self._kept, self.places, strict=False)
            if p.nbytes
        )
        begun = (
            f"{self.packing}\n{{\n{self.begun()}"
            f"    if (!{self.packed} || (uintptr_t){self.packed} % {ALIGNMENT}{bad}) return {BAD_ARRAY};\n"
            f"    memset({self.packed}, 0, {self.size});\n{copies}"
        )
        done = f"    memcpy({self.packed}, loopwright_layout, {DIGEST});\n    return {DONE};\n}}\n"
        if self.prepacking is None:
            return f"{begun}    (void)loopwright_answer;\n{done}"
        pack = self.prepacking.pack
        places = [f"(char *){self.packed} + {place}" for place in self.places[len(self._kept) : -1]]
        arguments = ", ".join([*(self.names[p.name] for p in pack.inputs), *places])
        return (
            f"{self.declared_entry(self.pack_entry, 0, len(pack.params))}{begun}"
            f"    if ({self.pack_entry}(&loopwright_answer, {arguments})) return {NO_MEMORY};\n"
            f"    if (loopwright_answer != {DONE}) return (int)loopwright_answer;\n{done}"
        )

    def _refused(self, weight: Param) -> str:
        """When a weight is no array, or lies in the block."""
        name, block = f"(uintptr_t){self.names[weight.name]}", f"(uintptr_t){self.packed}"
        overlaps = f"({name} < {block} + {self.size} && {block} < {name} + {weight.nbytes})"
        return f"!{self.names[weight.name]} || {name} % {weight.itemsize} || {overlaps}"
