"""The mathematical functions hold the accuracy that docs/vector_math.md states, and call no library."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

import loopwright as lw
from loopwright.sched.language.expr import FAST
from loopwright.sched.lowering.vectormath import FUNCTIONS
from loopwright.sched.runtime.kernel import Kernel

Array = np.ndarray
X86 = platform.machine() in ("x86_64", "AMD64")
# A CPU without fused multiply-add and with 16-byte vectors: products and sums are rounded one by one.
PLAIN = {"kind": "cpu", "mcpu": "x86-64", "features": []}
TARGETS = [
    pytest.param("cpu", id="host"),
    pytest.param(PLAIN, id="plain", marks=pytest.mark.skipif(not X86, reason="x86 only")),
]
SINGLE = sorted(set(FUNCTIONS["float32"]) - {f"fast_{name}" for name in FAST} - {"pow"})
DOUBLE = sorted(set(FUNCTIONS["float64"]) - {"pow"})
# Units in the last place, against exact results; what is not here is held to 2.
DOUBLE_ULPS = {"tanh": 3.0, "expm1": 2.5, "log10": 3.0, "tan": 3.0}
# Those that must fill vector registers, in every format.
PROMISED = (
    "exp", "exp2", "log", "log2", "log1p", "expm1", "tanh", "erf", "sigmoid", "sin", "cos", "pow", "rsqrt",
)  # fmt: skip
# Of the fast forms: units, and the arguments for which they hold.
FAST_FORMS = {
    "exp": (4.0, -87.0, 88.3), "exp2": (4.0, -126.0, 127.4), "sigmoid": (6.0, -87.0, 88.0), "log": (6.0, 1e-37, 1e38),
    "log2": (6.0, 1e-37, 1e38), "sin": (4.0, -100.0, 100.0), "cos": (4.0, -100.0, 100.0),
}  # fmt: skip
STEP = 2039  # every so many of the 2**32 numbers of float32
LIBRARY = re.compile(r"\b(?:call|jmp|bl)\w*\s+([A-Za-z]\w*)")


def erf(x: Array) -> Array:
    """The error function, also in a format that SciPy has none for: the series in which nothing cancels."""
    if x.dtype != np.longdouble:
        return special.erf(x)
    a = np.minimum(np.abs(x), 7)
    term = 2 / np.sqrt(4 * np.arctan(np.longdouble(1))) * a * np.exp(-a * a)
    total = term.copy()
    for n in range(1, 180):
        term = term * (2 * a * a) / (2 * n + 1)
        total += term
    return np.copysign(total, x)


REFERENCE: dict[str, Callable[..., Array]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "erf": erf,
    "sigmoid": lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x))),
    "rsqrt": lambda x: 1 / np.sqrt(x), "pow": np.power,
}  # fmt: skip


def reference(fn: str) -> Callable[..., Array]:
    """NumPy's function, for a wider format than the one tested."""
    return REFERENCE.get(fn) or getattr(np, fn)


def kernel(
    fn: str, dtype: str, size: int, lanes: int = 8, target: object = "cpu", fast: bool = False
) -> Kernel:
    """A kernel of one function of a vector."""
    options = {"fast": True} if fast else {}

    @lw.operator
    def function() -> object:
        x, y = (lw.input(name, (size,), dtype) for name in "xy")
        if fn == "pow":
            return lw.compute("z", (size,), lambda i: lw.pow(x[i], y[i], **options))
        return lw.compute("z", (size,), lambda i: getattr(lw, fn)(x[i], **options))

    work = function()
    schedule = work.schedule()
    return lw.build(work, target, schedule.vectorize("z.i", lanes) if lanes > 1 else schedule)


@np.errstate(all="ignore")
def ulps(got: Array, exact: Array) -> Array:
    """How far results are from exact ones (in a wider format), in units of the last place; infinite where they differ in kind."""
    info = np.finfo(got.dtype)
    near = exact.astype(got.dtype)
    _, exponent = np.frexp(np.abs(exact))
    unit = np.ldexp(exact.dtype.type(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    error = np.abs(got.astype(exact.dtype) - exact) / unit
    error = np.where(np.isinf(near) | np.isinf(got), np.where(got == near, 0, np.inf), error)
    signs = (got == 0) & (near == 0) & (np.signbit(got) != np.signbit(near))
    error = np.where(signs | (np.isnan(got) != np.isnan(near)), np.inf, error)
    return np.where(np.isnan(got) & np.isnan(near), 0, error)


def check(got: Array, exact: Array, x: Array, most: float) -> None:
    error = ulps(got, exact)
    worst = int(np.argmax(error))
    assert error[worst] <= most, (
        f"{error[worst]:.2f} ulp at {x[worst]!r}: {got[worst]!r}, not {exact[worst]!r}"
    )


@pytest.fixture(scope="module")
def single() -> Array:
    """A sample of all numbers of float32, and all that are special."""
    dense = np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32).view(np.float32)
    info = np.finfo(np.float32)
    edges = [
        0,
        1,
        2,
        0.5,
        88.72283,
        88.72284,
        87.33655,
        103.97207,
        103.97208,
        104,
        127,
        128,
        149,
        150,
        126,
        9,
        0.625,
        np.pi,
    ]
    edges += [
        info.max,
        info.tiny,
        info.smallest_subnormal,
        info.eps,
        np.inf,
        np.nan,
        2.0**22,
        2.0**24,
        2.0**58,
        2.0**93,
    ]
    near = np.array(edges, np.float32)
    near = np.concatenate(
        [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    )
    return np.concatenate([dense, near, -near])


@pytest.fixture(scope="module")
def double() -> Array:
    """Random bits, and numbers about 1 and of usual size."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**64, 100_000, dtype=np.uint64).view(np.float64)
    usual = rng.uniform(-1, 1, 200_000) * 10.0 ** rng.uniform(-6, 3, 200_000)
    about = 1 + rng.uniform(-1, 1, 100_000) * 10.0 ** rng.uniform(-12, 0, 100_000)
    info = np.finfo(np.float64)
    edges = np.array(
        [
            0,
            1,
            709.782712893384,
            710.4758600739439,
            745.1332191019411,
            1024,
            info.max,
            info.tiny,
            np.inf,
            np.nan,
        ]
    )
    # Where hardly anything is left of an angle; of all numbers, the least of 6381956970095103 * 2**797.
    turns = np.round(rng.uniform(0, 2.0**22, 50_000)) * (np.pi / 2)
    turns = np.concatenate([turns, [6381956970095103 * 2.0**797, 2.0**22, 2.0**52, 2.0**78, 2.0**79]])
    return np.concatenate([bits, usual, about, -about, edges, -edges, turns, -np.nextafter(turns, 0)])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", SINGLE)
def test_float32_is_within_two_units(fn: str, target: object, single: Array) -> None:
    with np.errstate(all="ignore"):
        exact = reference(fn)(single.astype(np.float64))
    check(kernel(fn, "float32", single.size, target=target)(single, single), exact, single, 2.0)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a format wider than float64")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", DOUBLE)
def test_float64_is_as_near_as_stated(fn: str, target: object, double: Array) -> None:
    with np.errstate(all="ignore"):
        exact = reference(fn)(double.astype(np.longdouble))
    got = kernel(fn, "float64", double.size, 4, target)(double, double)
    check(got, exact, double, DOUBLE_ULPS.get(fn, 2.0))


@pytest.mark.parametrize("target", TARGETS)
def test_pow_of_float32(target: object) -> None:
    special_values = [
        0.0,
        1,
        2,
        3,
        0.5,
        2.5,
        1 / 3,
        2.0**24 - 1,
        2.0**24,
        2.0**31,
        1e-45,
        3.4e38,
        1 + 2**-23,
        np.inf,
        np.nan,
    ]
    edges = np.array([*special_values, *(-v for v in special_values)], np.float32)
    pairs = [tuple(a.ravel() for a in np.meshgrid(edges, edges))]
    rng = np.random.default_rng(2)
    n = 200_000
    bits = rng.integers(0, 2**32, (2, n), dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = (1 + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-7, -0.5, n)).astype(np.float32)
    with np.errstate(all="ignore"):
        for base in (x, np.abs(bits[0])):  # results over the whole range of exponents
            y = (rng.uniform(-150, 128, n) / np.log2(base.astype(np.float64))).astype(np.float32)
            pairs.append((base, y))
    pairs += [(bits[0], bits[1]), (bits[0], rng.integers(-9, 10, n).astype(np.float32))]
    a, b = (np.concatenate(part) for part in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        exact = np.power(a.astype(np.float64), b.astype(np.float64))
    check(kernel("pow", "float32", a.size, target=target)(a, b), exact, a, 2.0)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a format wider than float64")
@pytest.mark.parametrize("target", TARGETS)
def test_pow_of_float64(target: object) -> None:
    info = np.finfo(np.float64)
    special_values = [
        0,
        1,
        2,
        3,
        0.5,
        2.5,
        1 / 3,
        2.0**52 - 1,
        2.0**52 + 1,
        2.0**53 - 1,
        2.0**53,
        2.0**70,
        1e-300,
    ]
    special_values += [
        info.max,
        info.tiny,
        info.smallest_subnormal,
        1 + info.eps,
        1 - info.epsneg,
        np.inf,
        np.nan,
    ]
    edges = np.array([*special_values, *(-v for v in special_values)])
    pairs = [tuple(a.ravel() for a in np.meshgrid(edges, edges))]
    rng = np.random.default_rng(2)
    n = 100_000
    bits = rng.integers(0, 2**64, (2, n), dtype=np.uint64).view(np.float64)
    about = 1 + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-16, -0.5, n)
    with np.errstate(all="ignore"):
        for base in (
            about,
            rng.uniform(0.5, 2, n),
            np.abs(bits[0]),
        ):  # results over the whole range of exponents
            pairs.append((base, rng.uniform(-1080, 1026, n) / np.log2(base)))
    pairs += [(bits[0], bits[1]), (bits[0], rng.integers(-9, 10, n).astype(np.float64))]
    a, b = (np.concatenate(part) for part in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        exact = np.power(a.astype(np.longdouble), b.astype(np.longdouble))
    check(kernel("pow", "float64", a.size, 4, target)(a, b), exact, a, 2.0)


@pytest.mark.parametrize("exponent", [0.0, -1.0, 0.5, 2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_exponents(dtype: str, exponent: float, single: Array) -> None:
    x = single[:: 1 if dtype == "float32" else 16].astype(dtype)

    @lw.operator
    def power() -> object:
        a = lw.input("a", x.shape, dtype)
        return lw.compute("b", x.shape, lambda i: a[i] ** exponent)

    with np.errstate(all="ignore"):
        wide = x.astype(np.float64 if dtype == "float32" else np.longdouble)
        exact = np.power(
            wide, np.full_like(wide, exponent)
        )  # of a number, NumPy would take the root for -0.0 too
        check(lw.build(power())(x), exact, x, 2.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", sorted(FAST_FORMS))
def test_fast_forms(fn: str, target: object) -> None:
    most, low, high = FAST_FORMS[fn]
    rng = np.random.default_rng(3)
    x = rng.uniform(low, high, 200_000)
    x[::2] *= 10.0 ** rng.uniform(-6, 0, 100_000)
    if low > 0:
        x = np.exp(rng.uniform(np.log(low), np.log(high), x.size))
        x[::2] = rng.uniform(0.5, 2, 100_000)
    x = x.astype(np.float32)
    exact = reference(fn)(x.astype(np.float64))
    check(kernel(fn, "float32", x.size, target=target, fast=True)(x, x), exact, x, most)


def test_the_fast_power() -> None:
    """Its error grows with the exponent of the result."""
    rng = np.random.default_rng(4)
    x = np.exp(rng.uniform(-20, 20, 100_000)).astype(np.float32)
    y = (rng.uniform(-120, 120, x.size) / np.log2(x.astype(np.float64))).astype(np.float32)
    exact = np.power(x.astype(np.float64), y.astype(np.float64))
    error = ulps(kernel("pow", "float32", x.size, fast=True)(x, y), exact)
    assert np.max(error / (1 + np.abs(np.log2(exact)))) <= 6


@pytest.mark.parametrize("fn", FAST)
def test_float64_has_one_form(fn: str) -> None:
    x = np.linspace(0.5, 1.5, 64)
    plain, fast = (kernel(fn, "float64", x.size, 4, fast=fast)(x, x) for fast in (False, True))
    np.testing.assert_array_equal(plain, fast)


@pytest.mark.parametrize("fn", [*SINGLE, "pow"])
def test_float16_is_float32_rounded(fn: str) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    y = np.full(x.size, 1.5, np.float16)
    with np.errstate(all="ignore"):
        args = (x, y) if fn == "pow" else (x,)
        exact = reference(fn)(*(a.astype(np.float64) for a in args))
        check(kernel(fn, "float16", x.size)(x, y), exact, x, 0.51)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("fn", ["exp", "log", "sin", "tanh", "pow"])
def test_all_widths_and_tails(fn: str, lanes: int) -> None:
    for size in (1, 3, 37):
        x = np.linspace(0.1, 9, size, dtype=np.float32)
        exact = reference(fn)(*([x.astype(np.float64)] * (2 if fn == "pow" else 1)))
        check(kernel(fn, "float32", size, lanes)(x, x), exact, x, 2.0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_call_of_a_library(dtype: str, target: object) -> None:
    for fn in {*FUNCTIONS[dtype], *PROMISED}:
        built = kernel(fn.removeprefix("fast_"), dtype, 64, 8, target, fast=fn.startswith("fast_"))
        called = set(LIBRARY.findall(built.source("asm")))
        assert called <= {"main_compute_"}, f"{fn} of {dtype} calls {called}"


def test_functions_in_unrolled_loops_and_in_each_other() -> None:
    x = np.linspace(0.5, 2, 45, dtype=np.float32).reshape(3, 15)

    @lw.operator
    def nested() -> object:
        a = lw.input("a", x.shape)
        return lw.compute("b", x.shape, lambda i, j: lw.exp(lw.sin(lw.log(a[i, j])) + lw.tanh(a[i, j])))

    work = nested()
    got = lw.build(work, schedule=work.schedule().vectorize("b.j", 4).unroll("b.i"))(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got, np.exp(np.sin(np.log(wide)) + np.tanh(wide)), rtol=1e-6)


def test_the_fast_form_is_part_of_the_formula() -> None:
    @lw.operator
    def function(fast: bool) -> object:
        x = lw.input("x", (8,))
        return lw.compute("y", (8,), lambda i: lw.exp(x[i], fast=fast))

    plain, fast = function(fast=False), function(fast=True)
    assert plain.key != fast.key
    assert lw.Workload.from_json(fast.to_json()).key == fast.key
    assert str(fast.stages[0].body) == "fast_exp(x[i])"
