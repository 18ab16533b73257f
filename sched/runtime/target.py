"""What a kernel runs on. A target is plain data: reading one from a log loads no compiler."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from loopwright.sched.errors import TargetError
from loopwright.sched.runtime import hardware, targetfile, triples

# Kernels for GPUs; of the last two there is source, which is not run here.
DEVICE_KINDS = ("opencl", "cuda", "metal", "webgpu")
KINDS = ("cpu", *DEVICE_KINDS)
_KEYS = ("kind", "triple", "mcpu", "cores", "features", "l1", "l2", "l3")
# A schedule says what is unrolled. Left to itself, LLVM writes out whole loops of vector stores, and then takes seconds
# over the one block that makes; these are the costs up to which it may. A schedule also says what is vectorized: LLVM 22's own
# loop vectorizer reads `x[i % 4]` as `x[i]` where the loop is a sum of integers (tests/fuzz/test_regressions.py).
LLVM_OPTIONS = [
    "-unroll-threshold-aggressive:uint=20",
    "-unroll-threshold-default:uint=20",
    "-vectorize-loops:bool=false",
]
# For code that is only compared with other code and then thrown away: a fifth less time to compile, for a loss of 1 to 2%.
QUICK_LEVEL, QUICK_OPTIONS = 1, ["-disable-lsr:bool=true"]
# TVM's names for the same things, as they stand in its target dicts.
_TVM_KEYS = {"num-cores": "cores", "mattr": "features", "mtriple": "triple"}
_TVM_IGNORED = ("keys", "tag", "host", "device", "opt-level", "jit", "mabi")
# Of a machine that nothing is said about.
DEFAULT_CACHES = (32768, 262144, 2097152)


@dataclass(frozen=True)
class Target:
    """A CPU, with the facts a schedule or the tuner asks for.

    ``mcpu`` and ``features`` are LLVM's names; ``triple``, one of ``triples.TRIPLES``, is its instruction set and system.
    ``intrinsics`` says whether a schedule that is wanted may use single instructions.

    >>> target = Target.parse("cpu")
    >>> Target.from_json(target.to_json()) == target
    True
    >>> Target.from_json({"kind": "cpu", "mcpu": "znver4", "cores": 8, "features": ["avx512f"]}).vector_bytes
    64
    """

    kind: str = "cpu"
    mcpu: str = "generic"
    cores: int = 1
    features: tuple[str, ...] = ()
    caches: tuple[int, int, int] = field(default=DEFAULT_CACHES, compare=False)
    triple: str = triples.X86
    intrinsics: bool = field(default=True, compare=False)

    @classmethod
    def parse(cls, spec: object) -> Target:
        """Make a target from what a user writes.

        Args:
            spec: ``"cpu"`` (this host), the name of a target that comes with Loopwright, such as ``"rpi5"``, a ``.toml`` file
                (docs/targets.md), a dict (ours, or TVM's), a TVM target, or a Target.

        Raises:
            TargetError: it names nothing we know.
        """
        if isinstance(spec, Target):
            return spec
        if isinstance(spec, Path) or (isinstance(spec, str) and spec.endswith(".toml")):
            return cls._from_dict(targetfile.read(Path(spec)), f"target file {spec}")
        if isinstance(spec, Mapping):
            return cls._from_dict(spec, "target")
        if isinstance(spec, str):
            if spec == "cpu":
                return host()
            if spec in DEVICE_KINDS:
                return cls._from_dict({"kind": spec}, "target")
            named = targetfile.find(spec, ("cpu", *DEVICE_KINDS))
            return cls._from_dict(targetfile.read(named), f"target {spec}")
        if hasattr(spec, "kind") and hasattr(spec, "attrs"):  # TVM's own class, without importing it
            return cls._from_dict({"kind": str(spec.kind.name), **_plain_attrs(spec)}, "target")
        raise TargetError(f"a target is a name, a dict, a .toml file or a Target; got {type(spec).__name__}")

    @classmethod
    def _from_dict(cls, value: Mapping[Any, Any], where: str) -> Target:
        spec = {_TVM_KEYS.get(str(k), str(k)): v for k, v in value.items() if k not in _TVM_IGNORED}
        kind = "cpu" if spec.get("kind", "cpu") == "llvm" else spec.get("kind", "cpu")
        if kind in DEVICE_KINDS:
            from loopwright.sched.runtime.device.target import device_target

            return device_target(value, where)
        if kind not in KINDS:
            raise TargetError(f"{where}: unknown kind {kind!r}; known: {', '.join(KINDS)}")
        targetfile.check_keys(spec, _KEYS, where)
        base = _base(spec, where)
        features = _features(base, spec["features"], where) if "features" in spec else base.features
        lacking = sorted(set(triples.RISCV_BASE) - set(features)) if base.triple == triples.RISCV else []
        if lacking:
            raise TargetError(
                f"{where}: {base.triple} without {', '.join(lacking)} runs no Linux distribution"
            )
        caches = [_positive(spec.get(f"l{i}", base.caches[i - 1]), f"l{i}", where) for i in (1, 2, 3)]
        cores = _positive(spec.get("cores", base.cores), "cores", where)
        return cls("cpu", base.mcpu, cores, features, (caches[0], caches[1], caches[2]), base.triple)

    @cached_property
    def vector_bytes(self) -> int:
        """Bytes of the widest vector register: 64 with AVX-512, 32 with AVX2 or RISC-V's Zvl256b, else 16."""
        if "avx512f" in self.features:
            return 64
        return 32 if not {"avx2", "zvl256b"}.isdisjoint(self.features) else 16

    @property
    def fused(self) -> bool:
        """Whether it has an instruction that multiplies and adds in one rounding."""
        return self.triple == triples.RISCV or not {"fma", "neon"}.isdisjoint(self.features)

    @property
    def scale_bytes(self) -> int:
        """The widest vector, in bytes, that one instruction scales by powers of two; 0 if there is none."""
        return self.vector_bytes if {"avx512f", "avx512vl"} <= set(self.features) else 0

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 16 if {"avx512f", "neon", "sve", "v"}.isdisjoint(self.features) else 32

    @property
    def l1(self) -> int:
        """Bytes of the first data cache, of each core."""
        return self.caches[0]

    @property
    def l2(self) -> int:
        """Bytes of the second cache."""
        return self.caches[1]

    @property
    def l3(self) -> int:
        """Bytes of the last cache."""
        return self.caches[2]

    def to_json(self) -> dict[str, Any]:
        """A plain value, as it stands in a tuning log."""
        where = {"triple": self.triple} if self.triple != triples.X86 else {}
        features = list(self.features)
        return {"kind": self.kind, "mcpu": self.mcpu, "cores": self.cores, "features": features, **where}

    def facts(self) -> dict[str, Any]:
        """The lines of a target file that says the same; see docs/targets.md."""
        plain = {"kind": self.kind, "triple": self.triple, "mcpu": self.mcpu, "cores": self.cores}
        return {**plain, "features": list(self.features), "l1": self.l1, "l2": self.l2, "l3": self.l3}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Target:
        """The target that :meth:`to_json` wrote; nothing is looked up, so this works on any host.

        Raises:
            TargetError: the value is no target.
        """
        if isinstance(value, Mapping) and value.get("kind") in DEVICE_KINDS:
            from loopwright.sched.runtime.device.target import DeviceTarget

            return DeviceTarget.from_json(value)
        try:
            features = tuple(sorted(str(f) for f in value.get("features") or ()))
            triple = str(value.get("triple", triples.X86))
            target = cls(str(value["kind"]), str(value["mcpu"]), int(value["cores"]), features, triple=triple)
            if "caches" in value:
                l1, l2, l3 = map(int, value["caches"])
                return replace(target, caches=(l1, l2, l3))
            return target
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TargetError(f"not a target: {value!r} ({error})") from None

    def missing_on(self, other: Target) -> tuple[str, ...]:
        """The CPU features this target requires and ``other`` lacks; of another kind of machine, its instruction set."""
        if self.triple != other.triple:
            return (triples.in_words(self.triple),)
        return tuple(sorted(set(self.features) - set(other.features)))

    def compatible_with(self, other: Target) -> bool:
        """Whether code built for this target runs on ``other``: same kind, no feature missing there."""
        return self.kind == other.kind and not self.missing_on(other)

    def describe(self) -> str:
        """One line for people.

        >>> print(Target("cpu", "znver3", 2, ("avx2", "fma"), (32768, 524288, 33554432)).describe())
        cpu znver3, 2 cores, 32-byte vectors, caches 32K 512K 32768K
        """
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''}"
        caches = " ".join(f"{size // 1024}K" for size in self.caches)
        where = f" ({self.triple})" if self.triple != triples.host_triple() else ""
        return f"{self.kind} {self.mcpu}{where}, {cores}, {self.vector_bytes}-byte vectors, caches {caches}"

    def __str__(self) -> str:
        return self.describe()

    def to_tvm(self, quick: bool = False) -> Any:
        """The same as a TVM target; features the CPU's name implies and this target lacks are switched off.

        Args:
            quick: with fewer of LLVM's passes.

        Raises:
            TargetError: LLVM does not know the CPU.
        """
        return _tvm_target(self, quick)


@cache
def _tvm_target(target: Target, quick: bool) -> Any:
    import tvm

    _check_cpu_name(target.mcpu, target.triple, "target")
    implied = set(_features_of(target.mcpu, target.triple))
    switched = [f"+{f}" for f in target.features if f not in implied]
    switched += [f"-{f}" for f in sorted(implied - set(target.features))]
    if target.triple == triples.RISCV and "v" not in target.features:
        switched.append("-zve32x")  # the least part of V, which a processor's name may imply by itself
    spec = {**_llvm(target.triple), "mcpu": target.mcpu, "num-cores": target.cores}
    spec["cl-opt"] = [*LLVM_OPTIONS, *(QUICK_OPTIONS if quick else ())]
    if quick:
        spec["opt-level"] = QUICK_LEVEL
    if switched:
        spec["mattr"] = [*spec.get("mattr", ()), *switched]
    return tvm.target.Target(spec)


_HOST: list[Target] = []


def host() -> Target:
    """This machine as a target. LLVM names the CPU, so the first call loads its library."""
    if not _HOST:
        _HOST.append(replace(host_facts(), mcpu=_system_cpu()))
    return _HOST[0]


def _system_cpu() -> str:
    """LLVM's name of this CPU."""
    import tvm_ffi

    _load_compiler()
    ask = tvm_ffi.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    if ask is None:
        import tvm

        ask = tvm.get_global_func("target.llvm_get_system_cpu")
    return str(ask())


def _load_compiler() -> None:
    """Load TVM's libraries as it would itself, but not its modules: these take a second more.

    Where TVM lies otherwise than a wheel puts it, or was told what to load, nothing is loaded.
    """
    told = {"TVM_LIBRARY_PATH", "TVM_USE_RUNTIME_LIB"} & os.environ.keys()
    found = None if "tvm" in sys.modules or told else find_spec("tvm")
    if found is None or found.origin is None:
        return
    from tvm_ffi.libinfo import load_lib_ctypes

    folder = Path(found.origin).parent / "lib"
    with suppress(RuntimeError, OSError):
        for library, mode in (("tvm_runtime", "RTLD_GLOBAL"), ("tvm_compiler", "RTLD_LOCAL")):
            load_lib_ctypes("tvm", library, mode, extra_lib_paths=[folder])


def host_facts() -> Target:
    """This machine without its CPU's name: enough to tell what runs here, and it loads no compiler."""
    if _HOST:
        return _HOST[0]
    features = tuple(sorted(hardware.cpu_features()))
    caches = hardware.cache_bytes(1), hardware.cache_bytes(2), hardware.cache_bytes(3)
    return Target("cpu", "", hardware.core_count(), features, caches, triples.host_triple())


def _base(spec: Mapping[str, Any], where: str) -> Target:
    """What is meant before anything is said of features, cores and caches: this host, or a CPU by its name."""
    triple, mcpu = spec.get("triple", host().triple), spec.get("mcpu")
    kind = triples.known_triple(triple) if isinstance(triple, str) else None
    if kind is None:
        raise TargetError(f"{where}: unknown triple {triple!r}; known: {', '.join(triples.TRIPLES)}")
    if kind == host().triple:
        if mcpu is None or mcpu == host().mcpu:
            return host()
        _check_cpu_name(mcpu, kind, where)
        return replace(host(), mcpu=str(mcpu), features=_features_of(str(mcpu), kind))
    if mcpu is not None:
        _check_cpu_name(mcpu, kind, where)
    name = str(mcpu or triples.generic_cpu(kind))
    return Target("cpu", name, 1, _features_of(name, kind), triple=kind)


def _llvm(triple: str) -> dict[str, Any]:
    """How TVM speaks of CPUs of a kind."""
    if triple == triples.host_triple():
        return {"kind": "llvm"}
    return {"kind": "llvm", "mtriple": triple, **triples.calling_convention(triple)}


def _features_of(mcpu: str, triple: str) -> tuple[str, ...]:
    """The tracked features LLVM may use for a CPU of this name."""
    import tvm

    target = tvm.target.Target({**_llvm(triple), "mcpu": mcpu})
    known = {str(name) for name in tvm.get_global_func("target.llvm_get_cpu_features")(target)}
    return tuple(sorted(known & triples.tracked(triple)))


def _check_cpu_name(mcpu: object, triple: str, where: str) -> None:
    names = _cpu_names(triple)
    if isinstance(mcpu, str) and mcpu in names:
        return
    near = sorted(names, key=lambda name: _distance(name, str(mcpu)))[:3]
    others = [other for other in triples.TRIPLES if str(mcpu) in _cpu_names(other)]
    hint = f'triple = "{others[0]}" has one' if others else f"nearest names: {', '.join(near)}"
    raise TargetError(f"{where}: LLVM knows no CPU {mcpu!r}; {hint}")


@cache
def _cpu_names(triple: str) -> frozenset[str]:
    """LLVM's names of the CPUs of a kind."""
    import tvm

    listed = tvm.get_global_func("target.llvm_get_cpu_archlist")
    return frozenset(str(name) for name in listed(tvm.target.Target(_llvm(triple))))


def _distance(a: str, b: str) -> float:
    from difflib import SequenceMatcher

    return -SequenceMatcher(None, a, b).ratio()


def _features(base: Target, listed: object, where: str) -> tuple[str, ...]:
    """Features as listed; entries of TVM's form, ``+avx2`` or ``-avx512f``, change those of the CPU instead."""
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise TargetError(f"{where}: features must be a list of names, got {listed!r}")
    names, known = [str(name) for name in listed], triples.tracked(base.triple)
    signed = any(re.match(r"[+-]", name) for name in names)
    result = set(base.features) if signed else set()
    for name in names:
        bare = name.lstrip("+-")
        if bare not in known:
            raise TargetError(
                f"{where}: unknown CPU feature {bare!r}{targetfile.meant(bare, known)}; known: {', '.join(sorted(known))}"
            )
        if name.startswith("-"):
            result.discard(bare)
        else:
            result.add(bare)
    return tuple(sorted(result))


def _positive(value: object, key: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TargetError(f"{where}: {key} must be a whole number above 0, got {value!r}")
    return value


def _plain_attrs(target: Any) -> dict[str, Any]:
    """The attributes of a TVM target as plain Python values."""
    plain: dict[str, Any] = {}
    for key, value in dict(target.attrs).items():
        if isinstance(value, (str, int)):
            plain[str(key)] = int(value) if isinstance(value, int) else str(value)
        elif isinstance(value, Iterable) and str(key) == "mattr":
            plain[str(key)] = [str(v) for v in value]
    return plain
