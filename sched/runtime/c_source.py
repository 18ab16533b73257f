"""The C side of a static library as text: its header, and the functions that stand before the kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from loopwright.sched.runtime.c_entry import BAD_CPU, NO_MEMORY
from loopwright.sched.runtime.signature import OUTPUT, Param, Signature
from loopwright.sched.runtime.sizes import dim_text
from loopwright.sched.runtime.target import Target

# Element type -> C's. What C has no type for is its bits in an unsigned integer.
C_TYPES = {
    **{f"int{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
}
# How a header begins.
SIGN = "/* Kernels made by Loopwright"
BITS = "uint8_t"  # bool, and the floats of 8 bits
# Names that C or C++ keeps to itself, or that are macros.
_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const const_cast "
    "consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long main mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq NULL INTERNAL linux unix"
)
_RESERVED = frozenset(_WORDS.split())

_COMMON = """\
#ifndef LOOPWRIGHT_STATUS
#define LOOPWRIGHT_STATUS
/* What a kernel returns. After BAD_SIZE, BAD_ARRAY and BAD_CPU nothing was computed. */
enum loopwright_status {
    LOOPWRIGHT_DONE = 0,
    LOOPWRIGHT_BAD_SIZE = 1,   /* a size is out of its bounds */
    LOOPWRIGHT_BAD_ARRAY = 2,  /* a null or misaligned pointer, or an output that overlaps another array */
    LOOPWRIGHT_BAD_CPU = 3,    /* this CPU lacks an instruction set that the kernel was built for */
    LOOPWRIGHT_NO_MEMORY = 4,  /* what the outputs hold is undefined */
    LOOPWRIGHT_CALL_FAILED = 5 /* a C function that computes a stage reported a failure; likewise */
};
/* A status in words. */
const char *loopwright_status_text(int status);
/* How many threads run a parallel loop, the calling one among them; at first as many as this process has cores.
   Not while a kernel runs. */
void loopwright_set_threads(int count);
#endif
"""


@dataclass(frozen=True)
class CFunction:
    """A kernel as a function of a C library.

    Attributes:
        name: the function's name, a C identifier.
        signature: the kernel's.
        target: what its code is for.
        provenance: where its schedule comes from.
    """

    name: str
    signature: Signature
    target: Target
    provenance: object = None

    @property
    def entry(self) -> str:
        """The name of the kernel's own entry (``c_entry.py``), which this function calls."""
        return f"{self.name}__entry"

    @property
    def pack_entry(self) -> str:
        """The name of the entry that packs weights, if there are any to be packed."""
        return f"{self.name}__pack"

    @cached_property
    def names(self) -> dict[str, str]:
        """What the sizes and arrays are called in C: size or array -> identifier."""
        given = [size[1] for size in self.signature.sizes] + [p.name for p in self.signature.in_call_order]
        taken = {self.name}
        found: dict[str, str] = {}
        for name in given:
            found[name] = identifier(name, taken)
            taken.add(found[name])
        return found

    @property
    def parameters(self) -> str:
        """The parameters as C declares them: sizes, inputs, outputs."""
        sizes = [f"int64_t {self.names[size[1]]}" for size in self.signature.sizes]
        arrays = [
            f"{'' if p.role == OUTPUT else 'const '}{c_type(p.dtype)} *{self.names[p.name]}"
            for p in self.signature.in_call_order
        ]
        return ", ".join([*sizes, *arrays])

    @property
    def prototype(self) -> str:
        """The function's declaration, without the semicolon.

        >>> s = Signature("scale", (Param("A", (4,), "float32"), Param("B", (4,), "float32", "output")))
        >>> CFunction("scale", s, Target()).prototype
        'int scale(const float *A, float *B)'
        """
        return f"int {self.name}({self.parameters})"

    def declarations(self) -> str:
        """What the header says before the function's own comment."""
        return ""

    def source(self) -> str:
        """The function that a program calls: it looks whether this CPU can run the kernel, and then runs it."""
        arguments = list(self.names.values())
        declared = self.declared_entry(self.entry, len(self.signature.sizes), len(self.signature.params))
        return f"{declared}{self.prototype}\n{{\n{self.begun()}{self.ended(self.entry, arguments)}}}\n"

    @staticmethod
    def declared_entry(entry: str, sizes: int, arrays: int) -> str:
        """The declaration of a kernel's entry, which takes sizes and arrays after its answer."""
        kinds = ", ".join(["int64_t *", *["int64_t"] * sizes, *["const void *"] * arrays])
        return f"int {entry}({kinds}) INTERNAL;\n"

    def begun(self) -> str:
        """How a function begins: with names that no parameter has, and a look at the CPU."""
        needs = "".join(f'"{feature}", ' for feature in self.target.features)
        return (
            f"    static const char *const loopwright_needs[] = {{ {needs}0 }};\n"
            "    static int loopwright_known;\n"
            f"    int64_t loopwright_answer = {NO_MEMORY};\n"
            f"    if (!loopwright_cpu_fits(loopwright_needs, &loopwright_known)) return {BAD_CPU};\n"
        )

    @staticmethod
    def ended(entry: str, arguments: Sequence[str]) -> str:
        """How it ends: with the entry's answer."""
        given = "".join(f", {argument}" for argument in arguments)
        return f"    return {entry}(&loopwright_answer{given}) ? {NO_MEMORY} : (int)loopwright_answer;\n"


def identifier(name: str, taken: Iterable[str] = ()) -> str:
    """A C identifier for a name: as it is where it can be.

    >>> identifier("A"), identifier("double"), identifier("2d conv"), identifier("A", {"A"})
    ('A', 'double_', '_2d_conv', 'A_')
    """
    made = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if made[0].isdigit():
        made = f"_{made}"
    while made in _RESERVED or made in taken or made.endswith("_t"):
        made += "_"
    return made


def c_type(dtype: str) -> str:
    """The C type of an element."""
    return C_TYPES.get(dtype, BITS)


def header(functions: Sequence[CFunction], what: str, guard: str, version: str) -> str:
    """The header of a static library.

    Args:
        functions: what the library holds.
        what: what a program does with it, such as ``link with matmul.a``.
        guard: the macro against reading the header twice.
        version: Loopwright's.
    """
    declared = "\n".join(f"{f.declarations()}{_comment(f)}{f.prototype};\n" for f in functions)
    return (
        f"{SIGN} {version}; {what}. Arrays are dense, rows first, start at a multiple of\n"
        "   their elements' size, and an output overlaps no other array. Kernels may be called from several threads. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"{_COMMON}\n{declared}\n"
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )


def source(functions: Sequence[CFunction]) -> str:
    """The functions that a program calls."""
    texts = [
        "#include <stdint.h>\n"
        '#define INTERNAL __attribute__((visibility("hidden")))\n'
        "int loopwright_cpu_fits(const char *const *names, int *known) INTERNAL;\n"
    ]
    return "\n".join([*texts, *(function.source() for function in functions)])


def _comment(function: CFunction) -> str:
    """What a function computes, and what it takes, before its declaration."""
    signature = function.signature
    lines = [str(signature)]
    for _, name, at_least, at_most, multiple_of in signature.sizes:
        multiple = f", a multiple of {multiple_of}" if multiple_of > 1 else ""
        lines.append(f"  {function.names[name]}: {at_least} to {at_most}{multiple}")
    lines += [f"  {_array(function, p)}" for p in signature.in_call_order]
    for limit in signature.limits:
        lines.append(f"  {dim_text(limit.value)}: {limit.least} to {limit.most}")
    if signature.calls:
        lines.append(f"Calls {', '.join(symbol for _, symbol in signature.calls)}.")
    if function.target.features:
        lines.append(f"Needs a CPU with {', '.join(function.target.features)}.")
    if isinstance(function.provenance, str):
        lines.append(f"Schedule: {function.provenance}")
    text = "\n   ".join(
        " ".join(line.replace("/*", "/ *").replace("*/", "* /").splitlines()) for line in lines
    )
    return f"/* {text} */\n"


def _array(function: CFunction, param: Param) -> str:
    """What is to be known of an array."""
    symbolic = any(isinstance(extent, tuple) for extent in param.shape)
    count = "" if symbolic else f", {param.nbytes // param.itemsize} elements"
    c = c_type(param.dtype)
    kind = f", as bits in {c}" if c.startswith("uint") and c != f"{param.dtype}_t" else ""
    return f"{function.names[param.name]}: {param.role}{count}, {str(param).partition(': ')[2]}{kind}"
