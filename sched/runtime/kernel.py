"""Compiled kernels: how they are called, looked into, and shipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError, ExternError, TargetError
from loopwright.sched.runtime import arguments, threads
from loopwright.sched.runtime.failure import DONE, failure
from loopwright.sched.runtime.signature import Signature
from loopwright.sched.runtime.target import Target, host_facts
from loopwright.sched.runtime.weights import Packed, Prepacking, Weights, weights_of

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule
    from loopwright.sched.views.profile import Profile

SOURCES = ("tir", "llvm", "asm")


class Kernel:
    """A compiled function over arrays.

    Call it with the inputs, in order or by name; it returns the output, or a tuple of outputs. ``out=`` takes arrays to
    fill instead of new ones. Arrays are used where they lie: NumPy's, or any that speak DLPack, at any alignment their
    elements have. They must have the declared shape and dtype and be contiguous, and an output must not overlap
    any other array. Kernels may be called from several threads at a time. Inputs that are declared weights can be laid
    out once for many calls: see :meth:`prepack`.

    Raises:
        ArgumentTypeError: a wrong dtype or number of arguments, or something that is no array.
        ArgumentError: a wrong shape, strides or alignment; an overlap; a read-only output. Nothing ran.
        ExternError: a C function that computes a stage reported a failure.
        TargetError: the kernel was built for a CPU with features this one lacks.

    Example::

        kernel = lw.build(matmul(M=500, N=300, K=200), target="cpu")
        c = kernel(a, b)
        kernel(a, b, out=c)
        kernel.export("matmul.so")
    """

    def __init__(
        self,
        signature: Signature,
        function: Any,
        *,
        target: Target,
        parallel: bool,
        checked: bool = True,
        provenance: Any = None,
        at: tuple[Mapping[str, int], ...] = (),
        module: Any = None,
        lowered: Sequence[Any] = (None,),
        path: Path | None = None,
        prepacking: Prepacking | None = None,
        pack: Any = None,
    ) -> None:
        #: The compiled entry, for timing loops: takes inputs then outputs (with ``prepacking``, those that it says), checks them
        #: (unless built without checks), and returns 1 if it ran, more if a C function failed.
        self.function = function
        self.target = target
        #: Whether the kernel has parallel loops.
        self.parallel = parallel
        self.checked = checked
        #: Where the schedule came from, as the builder said; a plain value.
        self.provenance = provenance
        #: Of a kernel with symbolic sizes, the numbers for them at which its schedule was found.
        self.at = at
        #: The schedule it was built from, to print or to go on from; None for a loaded library.
        self.schedule: Schedule | None = None
        self._module = module
        self.path = path
        self._lowered = lowered
        #: How weights are packed, and the compiled function that does; None if none are.
        self.prepacking, self.pack = prepacking, pack
        self._take(signature)
        #: What is done about weights; None if there are none.
        self.weights = Weights.of(self)

    def _take(self, signature: Signature) -> None:
        """Be called as a signature says."""
        self.signature = signature
        # NumPy does not share arrays of narrow floats; they are lent.
        self._lends = not self.checked or any(p.dtype in dtypes.NARROW for p in signature.params)
        # The fast path serves what nearly every call is: checked, with one output, and nothing that can fail.
        self._fast = not self._lends and len(signature.outputs) == 1 and not signature.calls
        self._symbolic = bool(signature.sizes)
        self._shape: tuple[int, ...] = ()
        self._dtype = np.dtype("float32")
        if signature.outputs and not self._symbolic:
            self._shape, self._dtype = signature.outputs[0].extents, signature.outputs[0].numpy

    def like(self, signature: Signature, function: Any) -> Kernel:
        """A kernel like this one, of another signature, in which weights are inputs like others."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, function=function, weights=None)
        made._take(signature)
        return made

    @property
    def module(self) -> Any:
        """TVM's module with the code; None if the kernel comes from a library, and not from a schedule."""
        self._compile_again()
        return self._module

    @property
    def lowered(self) -> Any:
        """TVM's function before the entry was wrapped around it; None if the kernel comes from a library."""
        return self.lowered_parts[0]

    @property
    def lowered_parts(self) -> Sequence[Any]:
        """That function, and if there is one, the function that packs weights."""
        self._compile_again()
        return self._lowered

    def _compile_again(self) -> None:
        """A kernel from the cache of builds has machine code only: the rest is made when it is asked for."""
        if self._module is None and self.schedule is not None:
            from loopwright.sched.runtime.build import build_schedule

            again = build_schedule(self.schedule, self.target)
            self._module, self._lowered = again._module, again._lowered

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """Run the kernel; see the class."""
        if self.weights is not None:
            return self.weights.call(arrays, out, named)
        # The entry would fill another library's array that must not change; a new one beside such an input lies otherwise.
        beside = arrays[0] if out is None and arrays else out
        tried = self._fast and not named and type(beside) is np.ndarray
        if tried:
            if out is not None:
                result = out
            elif self._symbolic:
                found = arguments.outputs_for(self.signature, arrays)
                result = found and found[0]
            else:
                result = np.empty(self._shape, self._dtype)
            try:
                if self.function(*arrays, result) is not None:
                    return result
            except Exception:  # the conversion of an argument failed: the slow side finds out which and why
                pass
        return self._call(arrays, out, named, tried)

    def _call(self, given: tuple[Any, ...], out: Any, named: dict[str, Any], tried: bool) -> Any:
        """A call from the start: any number of outputs, any thread, any array, every error."""
        inputs = arguments.inputs_in_order(self.signature, given, named)
        outputs = self._outputs(inputs, out)
        filled = [] if outputs is None else arguments.to_fill(self.signature, outputs)
        if tried or self._lends or outputs is None or not self._ran((*inputs, *filled)):
            signature = arguments.sized(self.signature, inputs) if self._symbolic else self.signature
            if outputs is None:
                outputs = filled = arguments.new_outputs(signature, inputs)
            # A loan stands for an array that the entry would not take; it must live until the call is over.
            loans = arguments.lend(signature, [*inputs, *filled])
            answer = self.function(*loans)
            if answer is None:
                raise BuildError(
                    f"{self.signature.name}: the compiled kernel refused arguments that are as declared"
                )
            self._check_calls(answer)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    @property
    def entry(self) -> Signature:
        """What the compiled function takes: the signature, but for weights that are packed."""
        return self.signature if self.prepacking is None else self.prepacking.entry

    def arguments(self, *arrays: Any) -> Sequence[Any]:
        """What :attr:`function` takes before the outputs in a call with these inputs; others only where weights are packed."""
        return arrays if self.weights is None else self.weights.arguments(arrays)

    def prepack(self, *weights: Any, **named: Any) -> Packed:
        """Lay out the weights once for many calls, as the schedule says.

        A kernel whose schedule packs nothing does it too, so programs do not depend on schedules. With plain arrays in the place
        of weights a call gives the same, and packs them again each time. See docs/weights.md.

        Args:
            weights: the arrays of all inputs that are declared weights, in order or by name.

        Returns:
            What a call takes where the first weight stands, for all of them: ``kernel(x, packed)``. It holds copies.

        Raises:
            ArgumentTypeError: the kernel has no weights; a wrong dtype or number of arrays, or something that is no array.
            ArgumentError: a wrong shape or strides.

        Example:
            >>> import numpy as np
            >>> import loopwright as lw
            >>> from loopwright import ops
            >>> kernel = lw.build(ops.matmul(M=2, N=64, K=3, weights="B"))
            >>> packed = kernel.prepack(np.ones((3, 64), "float32"))
            >>> kernel(np.ones((2, 3), "float32"), packed)[0, 0]
            np.float32(3.0)
        """
        return weights_of(self).prepack(weights, named)

    def _outputs(self, inputs: list[Any], out: Any) -> list[Any] | None:
        """The arrays to fill; None where the inputs do not say at once what they are like."""
        if out is not None:
            return arguments.outputs_given(self.signature, out)
        if self._symbolic:
            return arguments.outputs_for(self.signature, inputs)
        return arguments.new_outputs(self.signature, inputs)

    def _ran(self, args: tuple[Any, ...]) -> bool:
        """Try the arguments as they are."""
        try:
            answer = self.function(*args)
        except TargetError:
            raise
        except Exception:  # a failed conversion, as above
            return False
        self._check_calls(answer)
        return answer is not None

    def _check_calls(self, answer: int | None) -> None:
        """Raise what a C function has reported."""
        if answer not in (None, DONE):
            failed = failure(answer, self.signature.calls)
            raise ExternError(f"{self.signature.name}: {failed}; what the outputs hold is undefined")

    def source(self, kind: str = "tir") -> str:
        """The kernel's code: ``"tir"`` (the loops, as TVM saw them; the default), ``"llvm"`` or ``"asm"``.

        Raises:
            BuildError: a kind that does not exist, or a loaded library, which carries only machine code.
        """
        if kind not in SOURCES:
            raise BuildError(f"no source of kind {kind!r}; known: {', '.join(map(repr, SOURCES))}")
        if self.module is None:
            raise BuildError(f"{self.signature.name} was loaded from a library, which carries no source")
        return (
            str(self.lowered)
            if kind == "tir"
            else str(self.module.inspect_source("ll" if kind == "llvm" else "s"))
        )

    def profile(self, *arrays: Any) -> Profile:
        """Time the stages of the kernel on ``arrays``, its inputs: ``print(kernel.profile(a, b))`` shows a table.

        The kernel is compiled again with clock readings between the stages at root; a stage that is computed inside
        another's loops is timed with it. Times are medians over 0.3 seconds of runs, at least 5.

        Raises:
            BuildError: a kernel loaded from a library has no schedule to compile again.
            ArgumentError, ArgumentTypeError: as calling the kernel.
        """
        from loopwright.sched.views.profile import profile

        return profile(self, arrays)

    def export(self, path: str | PathLike[str]) -> Path:
        """Write the kernel as a shared library that ``loopwright.load`` turns back into it, and return its path.

        The file appears whole or not at all.

        Raises:
            ExportError: no C compiler for the target to link with, or the path cannot be written.
        """
        from loopwright.sched.runtime.library import export

        return export([self], path)

    def export_c(self, path: str | PathLike[str], *, name: str | None = None, threads: bool = True) -> Path:
        """Write the kernel as a static library and a C header, for programs without Python; return the library's path.

        ``matmul.a`` comes with ``matmul.h`` beside it, which declares the kernel as a plain C function: first the symbolic
        sizes, then the inputs, then the outputs. It returns 0 (``LOOPWRIGHT_DONE``), or says why it refused. The library
        needs nothing but the C library, ``-lm`` included. For another kind of machine it needs a C compiler for that; without one
        its parts in C are written beside it, to be compiled along with the program. See docs/deploy.md.

        Args:
            path: the library to write, NAME.a.
            name: what the function is called; the kernel's own name if not given.
            threads: run parallel loops on threads; without, all is computed by the thread that calls. A program that links
                several libraries takes this from the first.

        Raises:
            ExportError: no C compiler or ``ar``, the path cannot be written, a name that C cannot have, or a kernel that
                was itself loaded from a library.

        Example::

            lw.build(ops.matmul(M=512, N=512, K=512)).export_c("matmul.a")
            # cc main.c matmul.a -lm -lpthread
        """
        from loopwright.sched.runtime.c_library import export_c

        return export_c(self, path, name, threads)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a kernel holds machine code and cannot be pickled; export it, and load it in the other process"
        )

    def __repr__(self) -> str:
        return f"<Kernel {self.signature} for {self.target.mcpu}>"


def compile_function(
    func: Any,
    signature: Signature,
    target: Target,
    *,
    checks: bool = True,
    provenance: Any = None,
    ahead: tuple[Any, Prepacking] | None = None,
) -> Kernel:
    """Compile a TensorIR PrimFunc.

    Args:
        func: a PrimFunc over flat buffers, one dimension each, declared with their elements' alignment.
        signature: its parameters, in the same order.
        target: what to compile for.
        checks: compile the argument checks. Without them compilation is faster; every call is checked in Python, at
            some 20 us, unless it goes to ``kernel.function`` directly.
        provenance: a plain value to keep with the kernel and in its library.
        ahead: a PrimFunc that packs weights, and how it does; ``func`` then has the parameters that this says.

    Raises:
        BuildError: TVM or LLVM refused.
        TargetError: LLVM does not know the CPU.
    """
    from loopwright.sched.runtime.compile import compile_module, launches

    parts = [(func, signature)] if ahead is None else [(func, ahead[1].entry), (ahead[0], ahead[1].pack)]
    module, lowered = compile_module(parts, target, checks)
    function, *pack = _loaded(module, parts, target)
    return Kernel(
        signature,
        function,
        target=target,
        parallel=launches(module),
        checked=checks,
        provenance=provenance,
        module=module,
        lowered=lowered,
        prepacking=None if ahead is None else ahead[1],
        pack=pack[0] if pack else None,
    )


def compile_quickly(parts: Sequence[tuple[Any, Signature]], target: Target) -> list[Any]:
    """Compile PrimFuncs of one target in less time, to code that may be a few percent slower, and that checks no arguments.

    They share one module: half of what the compiler does for a small function it does for each module.

    Raises:
        BuildError: TVM or LLVM refused one of them.
        TargetError: LLVM does not know the CPU.
    """
    from loopwright.sched.runtime.compile import compile_module

    module, _ = compile_module(parts, target, checks=False, quick=True)
    return _loaded(module, parts, target)


def _loaded(module: Any, parts: Sequence[tuple[Any, Signature]], target: Target) -> list[Any]:
    """The functions of compiled code, loaded into this process."""
    from loopwright.sched.runtime.compile import POOL, entry_name, launches, pool_module

    threads.configure(host_facts().cores)
    missing = target.missing_on(host_facts())
    if missing:
        return [_refuse(signature, missing) for _, signature in parts]
    if not threads.has_pool() and launches(module):
        threads.install(pool_module(module, target.triple).get_function(POOL))
    with threads.launching():
        return [module.get_function(entry_name(nth)) for nth in range(len(parts))]


def _refuse(signature: Signature, missing: tuple[str, ...]) -> Any:
    """Stand in for a function that this CPU cannot run."""

    def function(*_: Any) -> Any:
        raise TargetError(
            f"{signature.name} was built for a CPU with {', '.join(missing)}; this one lacks it"
        )

    return function
