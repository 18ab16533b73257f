"""GPUs as targets: how many threads a block may have, and how much memory they may share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from loopwright.sched.errors import TargetError
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.targetfile import check_keys

_KEYS = ("kind", "device", "arch", "threads", "block", "shared", "cores")
# TVM's names for the same things, as they stand in its target dicts, and those that say nothing here.
_TVM_KEYS = {
    "max_num_threads": "threads", "max_threads_per_block": "threads", "max_shared_memory_per_block": "shared",
}  # fmt: skip
_TVM_IGNORED = (
    "keys", "tag", "host", "libs", "registers_per_block", "thread_warp_size", "max_function_args",
    "image_base_address_alignment", "texture_depth_limit", "texture_spatial_limit", "l2_cache_size_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class DeviceTarget(Target):
    """A GPU, or what speaks its language. ``mcpu`` is its name or architecture, ``cores`` its compute units.

    Attributes:
        threads: how many threads a block has at most; ``block``: how many along each axis.
        grid: how many blocks there are at most along each axis.
        shared: bytes of memory that the threads of a block can share.
        cpu_vectors: bytes of a vector register, of a CPU that runs kernels as a device does; 0 of a GPU.
    """

    kind: str = "opencl"
    mcpu: str = "any"
    threads: int = 256
    block: tuple[int, int, int] = (256, 256, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    shared: int = 32768
    cpu_vectors: int = 0

    @property
    def vector_bytes(self) -> int:
        """Bytes of the widest vector a thread loads."""
        return self.cpu_vectors or 16

    @property
    def registers(self) -> int:
        """How many such vectors a thread may hold."""
        return 16 if self.cpu_vectors == 32 else 32

    @property
    def processor(self) -> Target | None:
        """The CPU that runs the kernels, as schedules for CPUs ask about it; None of a GPU."""
        if not self.cpu_vectors:
            return None
        features = {64: ("avx2", "avx512f", "fma"), 32: ("avx2", "fma")}.get(self.cpu_vectors, ())
        return Target("cpu", self.mcpu, self.cores, features, self.caches, intrinsics=False)

    def has(self, arch: str) -> bool:
        """Whether it is of this architecture of NVIDIA's, ``"sm_70"``, or a later one."""
        return self.kind == "cuda" and _generation(self.mcpu) >= _generation(arch)

    def describe(self) -> str:
        """One line for people."""
        units = f"{self.cores} compute unit{'s' if self.cores != 1 else ''}"
        return (
            f"{self.kind} {self.mcpu}, {units}, {self.threads} threads a block, {self.shared // 1024}K shared"
        )

    def to_json(self) -> dict[str, Any]:
        """A plain value, as it stands in a tuning log."""
        limits: dict[str, Any] = {
            "threads": self.threads,
            "block": list(self.block),
            "shared": self.shared,
        }
        if self.cpu_vectors:
            limits["cpu_vectors"] = self.cpu_vectors
        return {"kind": self.kind, "mcpu": self.mcpu, "cores": self.cores, "features": [], **limits}

    def facts(self) -> dict[str, Any]:
        """The lines of a target file that says the same."""
        name = {"arch": self.mcpu} if self.mcpu != "any" else {}
        limits = {"threads": self.threads, "block": list(self.block), "shared": self.shared}
        return {"kind": self.kind, **name, "cores": self.cores, **limits}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DeviceTarget:
        """The target that :meth:`to_json` wrote; no device is looked for.

        Raises:
            TargetError: the value is no target.
        """
        try:
            x, y, z = map(int, value["block"])
            threads, shared, cores = (int(value[key]) for key in ("threads", "shared", "cores"))
            kind, mcpu, vectors = str(value["kind"]), str(value["mcpu"]), int(value.get("cpu_vectors", 0))
            l1, l2, l3 = (int(value.get(f"l{n + 1}", size)) for n, size in enumerate(cls.caches))
            return cls(
                kind,
                mcpu,
                cores,
                caches=(l1, l2, l3),
                threads=threads,
                block=(x, y, z),
                shared=shared,
                cpu_vectors=vectors,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise TargetError(f"not a target: {value!r} ({error})") from None

    def compatible_with(self, other: Target) -> bool:
        """Whether a kernel for this target runs on ``other``: of the same kind, within its limits."""
        if not isinstance(other, DeviceTarget) or self.kind != other.kind:
            return False
        return self.threads <= other.threads and self.shared <= other.shared

    def missing_on(self, other: Target) -> tuple[str, ...]:
        """A GPU lacks no features; its limits are those of :meth:`compatible_with`."""
        return ()

    def to_tvm(self, quick: bool = False) -> Any:
        """The same as a TVM target; ``quick`` changes nothing."""
        import tvm

        spec: dict[str, Any] = {"kind": self.kind}
        if self.kind == "cuda":
            spec["arch"] = self.mcpu
        return tvm.target.Target(spec)


def _generation(arch: str) -> int:
    return int(arch.removeprefix("sm_").rstrip("af"))


# What every device of a kind can do, for source that is made with no device there.
_LEAST = {
    "opencl": DeviceTarget("opencl"),
    "cuda": DeviceTarget("cuda", "sm_80", threads=1024, block=(1024, 1024, 64), shared=49152),
    "metal": DeviceTarget("metal", threads=1024, block=(1024, 1024, 1024), shared=32768),
    "webgpu": DeviceTarget("webgpu", threads=256, block=(256, 256, 64), grid=(65535, 65535, 65535), shared=16384),
}  # fmt: skip


def device_target(spec: Mapping[Any, Any], where: str) -> DeviceTarget:
    """A target from what a user writes: ``{"kind": "cuda", "arch": "sm_90"}``; of OpenCL, the device that ``"device"`` names;
    of CUDA, this machine's GPU if that has the architecture.

    What :meth:`DeviceTarget.to_json` wrote is taken as it is.

    Raises:
        TargetError: an unknown key, or a value that makes no sense.
    """
    if "mcpu" in spec:
        return DeviceTarget.from_json(spec)
    plain = {_TVM_KEYS.get(str(k), str(k)): v for k, v in spec.items() if str(k) not in _TVM_IGNORED}
    check_keys(plain, _KEYS, where)
    kind = str(plain["kind"])
    base = _LEAST[kind]
    if kind == "opencl" and "arch" not in plain:
        from loopwright.sched.runtime.device.opencl import described

        base = described(_name(plain, "device", where)) or base
    if kind == "cuda":
        from loopwright.sched.runtime.device.cuda_runtime import described as gpu

        here = gpu()
        base = here if here is not None and plain.get("arch", here.mcpu) == here.mcpu else base
    arch = _name(plain, "arch", where) or base.mcpu
    if kind == "cuda" and not (arch.startswith("sm_") and arch[3:].rstrip("af").isdigit()):
        raise TargetError(
            f"{where}: arch {arch!r} is no architecture of NVIDIA's, such as 'sm_80' or 'sm_90'"
        )
    threads, shared, cores = (
        _positive(plain.get(key, getattr(base, key)), key, where) for key in ("threads", "shared", "cores")
    )
    block = plain.get("block", base.block)
    if not isinstance(block, (list, tuple)) or len(block) != 3:
        raise TargetError(
            f"{where}: block takes the most threads of each axis, such as [1024, 1024, 64], got {block!r}"
        )
    x, y, z = (_positive(count, "block", where) for count in block)
    return replace(base, mcpu=arch, cores=cores, threads=threads, block=(x, y, z), shared=shared)


def _name(spec: Mapping[str, Any], key: str, where: str) -> str:
    value = spec.get(key, "")
    if not isinstance(value, str):
        raise TargetError(f"{where}: {key} must be a name, got {value!r}")
    return value


def _positive(value: object, key: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TargetError(f"{where}: {key} must be a whole number above 0, got {value!r}")
    return value
