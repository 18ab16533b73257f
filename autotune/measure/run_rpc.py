"""Candidates on a device elsewhere: built and linked here, sent there, run there, and timed by its clock."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.autotune.measure.rpc import Farm, borrowed
from loopwright.autotune.measure.run_host import as_bits
from loopwright.autotune.measure.runner import Function, Lost, Setting
from loopwright.autotune.measure.timing import Stopwatch
from loopwright.sched.runtime.build import compile_candidates
from loopwright.sched.runtime.compile import compile_module, entry_name
from loopwright.sched.runtime.toolchain import run, tool
from loopwright.sched.runtime.weights import Candidate

if TYPE_CHECKING:
    from loopwright.sched.runtime.build import Lowered
    from loopwright.sched.runtime.signature import Signature
    from loopwright.sched.runtime.target import Target

# TVM's number for threads that may run on any core.
ANY_CORE = 1


class _File:
    """A file that goes when nobody speaks of it any more: a long run links thousands."""

    def __init__(self, path: Path) -> None:
        weakref.finalize(self, path.unlink, missing_ok=True)


@dataclass(frozen=True)
class Linked:
    """A compiled function in a library that can be sent.

    Attributes:
        library: the file.
        entry: what the function is called there.
        kept: what keeps the file.
    """

    library: Path
    entry: str
    kept: object = None


class RpcRunner:
    """A :class:`~loopwright.autotune.measure.runner.Runner` for devices that a tracker lends.

    A device is borrowed for one turn, and given back: so workers of this run, and other users of the farm, share them. What is
    written outside of an array is not found on a device, as long as it does no harm there.
    """

    def __init__(self, setting: Setting) -> None:
        assert setting.device is not None
        self._farm, self._setting = Farm.parse(setting.device), setting
        self._inputs = list(map(as_bits, setting.inputs))
        self._outputs = [as_bits(guarded.array) for guarded in setting.outputs]
        self._folder = Path(tempfile.mkdtemp(dir=setting.folder))
        self._turn: _Turn | None = None

    def building(self) -> AbstractContextManager[None]:
        """At once: nothing is timed here."""
        return nullcontext()

    def in_a_row(self) -> AbstractContextManager[None]:
        """At once: each candidate waits for a device of its own."""
        return nullcontext()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """With a device of its own."""
        with borrowed(self._farm, self._setting.session_seconds) as session:
            flush = 2 * self._setting.target.l3 if self._setting.cold else 0
            self._turn = _Turn(session, self._inputs, self._outputs, flush)
            try:
                with self._noticing():
                    self._turn.begin()
                yield
            finally:
                self._turn = None

    def compile_screened(self, several: Sequence[Lowered]) -> list[Function]:
        """In one library, with fewer of LLVM's passes."""
        return compile_candidates(several, partial(self._linked, quick=True))

    def compile_finalist(self, schedule: str, lower: Callable[[], Lowered]) -> Function:
        """In a library of its own, as it will be deployed."""
        (function,) = compile_candidates([lower()], self._linked)
        return function

    def prime(self, function: Function) -> None:
        """Nothing: a library is ready once it was sent."""

    def run(self, function: Function) -> Any:
        """Send the outputs as they were filled, run once, and fetch them."""
        with self._noticing():
            return self.turn.run(function)

    def stopwatch(self, sample_seconds: float) -> Stopwatch:
        """By the device's clock."""
        return _RpcStopwatch(self, sample_seconds)

    @property
    def turn(self) -> _Turn:
        """The turn this is called in."""
        assert self._turn is not None, "a device is borrowed by `alone`"
        return self._turn

    def time(self, function: Function, number: int) -> float:
        """Seconds a call, over ``number`` calls in a row."""
        with self._noticing():
            return self.turn.time(function, number)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Tell a candidate that fails from a device that is lost: only the one leaves somebody to talk to."""
        try:
            yield
        except Exception as error:
            if self.turn.answers():
                raise RuntimeError(_last_line(error)) from error
            raise Lost(
                f"{self._farm}: the device, or the process there, ended: {_last_line(error)}"
            ) from error

    def _linked(
        self, parts: Sequence[tuple[Any, Signature]], target: Target, quick: bool = False
    ) -> list[Linked]:
        """Functions compiled and linked into one library."""
        module, _ = compile_module(parts, target, checks=False, quick=quick, header=0)
        handle, name = tempfile.mkstemp(".so", "candidates-", self._folder)
        os.close(handle)
        library = Path(name)
        code = library.with_suffix(".o")
        module.write_to_file(str(code), "o")
        run([tool("CC", target.triple), "-shared", "-fPIC", "-o", name, str(code), "-lm"], library)
        code.unlink()
        kept = _File(library)
        return [Linked(library, entry_name(nth), kept) for nth in range(len(parts))]


class _Turn:
    """What lies on a device during one session."""

    def __init__(self, session: Any, inputs: Sequence[Any], outputs: Sequence[Any], flush_bytes: int) -> None:
        self._session, self._here, self._given, self._flush = session, outputs, inputs, flush_bytes
        self._modules: dict[Path, Any] = {}
        self._packed: dict[str, list[Any]] = {}

    def begin(self) -> None:
        """Send the arrays. Parallel loops get as many threads there as this worker would have here."""
        self._device = self._session.cpu(0)
        threads = int(os.environ["TVM_NUM_THREADS"])
        self._session.get_function("runtime.config_threadpool")(ANY_CORE, threads)
        self._inputs = list(map(self._sent, self._given))
        self._outputs = list(map(self._sent, self._here))

    def run(self, function: Function) -> Any:
        for there, here in zip(self._outputs, self._here, strict=True):
            there.copyfrom(here)
        linked, arguments = self._bound(function)
        answer = self._module(linked).get_function(linked.entry)(*arguments)
        for there, here in zip(self._outputs, self._here, strict=True):
            here[...] = there.numpy()
        return answer

    def time(self, function: Function, number: int) -> float:
        linked, arguments = self._bound(function)
        timed = self._module(linked).time_evaluator(
            linked.entry, self._device, number=number, repeat=1, cache_flush_bytes=self._flush
        )
        return float(timed(*arguments).results[0])

    def answers(self) -> bool:
        """Whether the session still lives."""
        try:
            self._session.get_function("runtime.config_threadpool")
        except Exception:  # whatever it is, nobody answered
            return False
        return True

    def _bound(self, function: Function) -> tuple[Linked, list[Any]]:
        """What is called for a candidate, and with which arrays: its weights are packed already."""
        if not isinstance(function, Candidate):
            return function, [*self._inputs, *self._outputs]  # type: ignore[return-value]
        how = function.prepacking
        if how.layout not in self._packed:
            weights, made = how.arrays(dict(zip(function.names, self._inputs, strict=True)))
            packed = [self._sent(as_bits(array)) for array in made]
            linked: Any = function.pack
            self._module(linked).get_function(linked.entry)(*weights, *packed)
            self._packed[how.layout] = packed
        arguments = function.arguments(self._inputs, self._packed[how.layout])
        return function.function, [*arguments, *self._outputs]

    def _module(self, linked: Linked) -> Any:
        """A library on the device, sent when it is first needed."""
        if linked.library not in self._modules:
            self._session.upload(str(linked.library))
            try:
                self._modules[linked.library] = self._session.load_module(linked.library.name)
            except Exception as error:  # TVM's own classes
                raise RuntimeError(
                    f"the device does not load what is built for the target; is it of another kind? {_last_line(error)}"
                ) from error
        return self._modules[linked.library]

    def _sent(self, array: Any) -> Any:
        import tvm

        return tvm.runtime.tensor(array, self._device)


class _RpcStopwatch(Stopwatch):
    def __init__(self, runner: RpcRunner, sample_seconds: float) -> None:
        super().__init__((), None, sample_seconds)
        self._runner = runner

    def calls(self, seconds: float) -> int:
        """As the base; a single call where caches are emptied before."""
        return 1 if self._runner._setting.cold else super().calls(seconds)

    def sample(self, function: Function, number: int) -> float:
        """Seconds a call, by the device's clock."""
        return self._runner.time(function, number)


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
