"""The polynomials behind Loopwright's vector math, derived: ``python -m benchmarks.vector_math_coefficients`` prints
``sched/lowering/vectormath/coefficients.py``.

Each is the minimax polynomial of a function on an interval under a weight, found by Remez's exchange (Remez 1934; the
form used here is in Muller, "Elementary Functions", 3rd edition, section 3.6) with mpmath's arithmetic, 60 digits. Its
coefficients are rounded to the format they are used in one after the other, from the lowest power on; the later ones make
up for what the rounding of one changed. Needs mpmath (``pip install mpmath``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp

Function = Callable[[Any], Any]

GRID = 400  # points on which the extrema of an error are looked for
ROUNDS = 12  # of the exchange; it converges quadratically
BITS = {"float32": 24, "float64": 53}
TURN_DIGIT, TURN_DIGITS = 26, 45


@dataclass(frozen=True)
class Fit:
    """A polynomial to derive.

    Attributes:
        name: of the table; ``what`` says in a line what it approximates.
        target: the function of ``x``.
        weight: what an error at ``x`` counts: 1 / (the function that is computed from the polynomial there).
        interval: of ``x``.
        powers: of ``x``, one for each coefficient.
        dtype: the format of the coefficients.
    """

    name: str
    what: str
    target: Function
    weight: Function
    interval: tuple[Any, Any]
    powers: tuple[int, ...]
    dtype: str = "float32"


def remez(target: Function, weight: Function, interval: tuple[Any, Any], powers: Sequence[int]) -> list[Any]:
    """The coefficients with the least greatest weighted error."""
    count = len(powers) + 1
    known = [(x, target(x), weight(x)) for x in _grid(interval)]
    points = [known[round(n * (len(known) - 1) / (count - 1))] for n in range(count)]
    for _ in range(ROUNDS):
        rows = [[w * x**p for p in powers] + [(-1) ** n] for n, (x, _, w) in enumerate(points)]
        solved = mp.lu_solve(mp.matrix(rows), mp.matrix([w * y for _, y, w in points]))
        found, level = list(solved[: count - 1]), abs(solved[count - 1])
        errors = [w * (y - sum(c * x**p for c, p in zip(found, powers, strict=True))) for x, y, w in known]
        chosen = _alternating(errors, count)
        if max(abs(e) for e in errors) < level * mp.mpf("1.0001"):
            break
        points = [known[n] for n in chosen]
    return found


def _alternating(errors: Sequence[Any], count: int) -> list[int]:
    """Where the error is greatest in each stretch of one sign; the ``count`` neighbours of which the greatest is one."""
    peaks: list[int] = []
    for n, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = n
        else:
            peaks.append(n)
    while len(peaks) > count:
        ends = (0, -1)
        peaks.pop(min(ends, key=lambda end: abs(errors[peaks[end]])))
    assert len(peaks) == count, "the error does not alternate often enough"
    return peaks


def rounded(value: Any, dtype: str) -> float:
    """The nearest number of the format."""
    with mp.workprec(BITS[dtype]):
        return float(+value)


def derive(fit: Fit) -> tuple[list[float], Any]:
    """The rounded coefficients of a fit, and the greatest weighted error that they leave."""
    exact = remez(fit.target, fit.weight, fit.interval, fit.powers)
    coefficients: list[float] = []
    for n, power in enumerate(fit.powers):
        coefficients.append(rounded(exact[n], fit.dtype))
        lost, later = exact[n] - coefficients[-1], fit.powers[n + 1 :]
        for m, change in enumerate(_compensation(fit, power, later), n + 1):
            exact[m] += lost * change
    sums = [
        (x, sum(c * x**p for c, p in zip(coefficients, fit.powers, strict=True))) for x in _grid(fit.interval)
    ]
    return coefficients, max(abs(fit.weight(x) * (fit.target(x) - y)) for x, y in sums)


def _compensation(fit: Fit, power: int, powers: Sequence[int]) -> Sequence[Any]:
    """``x**power`` as a combination of other powers: the nearest in the sense of least weighted squares."""
    if not powers:
        return ()
    rows = [(fit.weight(x), x) for x in _grid(fit.interval)]
    matrix = mp.matrix([[w * x**p for p in powers] for w, x in rows])
    return list(mp.lu_solve(matrix.T * matrix, matrix.T * mp.matrix([w * x**power for w, x in rows])))


def _grid(interval: tuple[Any, Any]) -> list[Any]:
    """Points of an interval, dense toward its ends; without 0, where some targets are quotients of zeros."""
    low, high = mp.mpf(interval[0]), mp.mpf(interval[1])
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * n / GRID) for n in range(GRID + 1)]
    return [x for x in grid if abs(x) > (high - low) / GRID**3]


mp.mp.dps = 60
LN2 = mp.log(2)
HALF = (-LN2 / 2, LN2 / 2)  # what is left of an exponent
THIRD = (-mp.mpf(1) / 3, mp.mpf(1) / 3)  # of a mantissa, in float32
EIGHTH = (0, (mp.pi / 4) ** 2)  # of an angle, squared
SLACK = mp.mpf(1) / 64  # of an angle that may be taken to the second nearest multiple
QUARTER = (0, mp.mpf("0.0866") ** 2)  # of a mantissa near one of two numbers, squared
RATIO = (0, ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2)  # of a mantissa, in float64, squared


def tail(function: Function, terms: Sequence[tuple[int, Any]], divisor: int) -> Function:
    """``(function(x) - the first terms of its series) / x**divisor``, with digits enough for the cancellation."""

    def quotient(x: Any) -> Any:
        with mp.workdps(90):
            return (function(x) - sum(c * x**p for p, c in terms)) / x**divisor

    return quotient


def relative(power: int, function: Function) -> Function:
    """The weight of a polynomial that is multiplied by ``x**power`` to make ``function``."""
    return lambda x: abs(x**power / function(x))


def of_square(function: Function) -> Function:
    """An even function of x as one of its square."""
    return lambda z: function(mp.sqrt(z))


def odd(
    name: str, what: str, function: Function, square: tuple[Any, Any], count: int, dtype: str = "float32"
) -> Fit:
    """``(function(x) - x) / x**3`` in ``x**2``."""
    weight = of_square(relative(3, function))
    return Fit(name, what, of_square(tail(function, [(1, 1)], 3)), weight, square, tuple(range(count)), dtype)


def exponential_fits() -> list[Fit]:
    """exp, exp2, expm1, sinh, tanh."""
    near, short = tail(mp.exp, [(0, 1), (1, 1)], 2), tail(mp.exp, [(0, 1)], 1)
    exp, exp_short, expm1 = relative(2, mp.exp), relative(1, mp.exp), relative(2, mp.expm1)
    two = tail(lambda r: mp.power(2, r), [(0, 1)], 1)
    exp2, half = relative(1, lambda r: mp.power(2, r)), (-0.5, 0.5)
    return [
        Fit("EXP", "(exp(r) - 1 - r) / r**2, |r| <= log(2)/2", near, exp, HALF, tuple(range(5))),
        Fit("EXP_FAST", "(exp(r) - 1) / r", short, exp_short, HALF, tuple(range(5))),
        Fit("EXPM1", "as EXP, for exp(r) - 1", near, expm1, HALF, tuple(range(6))),
        Fit("EXP2", "(2**r - 1) / r, |r| <= 1/2", two, exp2, half, tuple(range(6))),
        Fit("EXP2_FAST", "as EXP2", two, exp2, half, tuple(range(5))),
        odd("SINH", "(sinh(x) - x) / x**3 in x**2, |x| <= 1", mp.sinh, (0, 1), 4),
        odd("TANH", "(tanh(x) - x) / x**3 in x**2, |x| <= 0.625", mp.tanh, (0, 0.625**2), 5),
        Fit("EXP_64", "as EXP", near, exp, HALF, tuple(range(10)), "float64"),
        Fit("EXPM1_64", "as EXPM1", near, expm1, HALF, tuple(range(10)), "float64"),
        Fit("EXP2_64", "as EXP2", two, exp2, half, tuple(range(12)), "float64"),
        odd("SINH_64", "as SINH", mp.sinh, (0, 1), 7, "float64"),
    ]


def logarithm_fits() -> list[Fit]:
    """log and log2."""

    def log2(f: Any) -> Any:
        return mp.log1p(f) / LN2

    def ratio(s: Any) -> Any:
        return 2 * mp.atanh(s)

    near, short = tail(mp.log1p, [(1, 1), (2, mp.mpf(-1) / 2)], 3), tail(mp.log1p, [(1, 1)], 2)
    two, by_two = tail(log2, [(1, 1)], 1), relative(1, log2)
    double = of_square(tail(ratio, [(1, 2)], 3))
    first = 2 / LN2
    second = of_square(tail(lambda s: ratio(s) / LN2, [(1, first)], 3))
    rest = of_square(tail(lambda s: ratio(s) / LN2, [(1, first), (3, first / 3)], 5))
    return [
        Fit(
            "LOG",
            "(log(1+f) - f + f**2/2) / f**3, |f| <= 1/3",
            near,
            relative(3, mp.log1p),
            THIRD,
            tuple(range(7)),
        ),
        Fit("LOG_FAST", "(log(1+f) - f) / f**2", short, relative(2, mp.log1p), THIRD, tuple(range(7))),
        Fit("LOG2", "log2(1+f) / f - 1", two, by_two, THIRD, tuple(range(9))),
        Fit("LOG2_FAST", "as LOG2", two, by_two, THIRD, tuple(range(8))),
        Fit(
            "WIDE_LOG2",
            "log2(1+f) / f, |f| <= 1/3, for float32's powers",
            lambda f: log2(f) / f,
            by_two,
            THIRD,
            tuple(range(12)),
            "float64",
        ),
        Fit(
            "LOG2_SECOND",
            "(log2((1+s)/(1-s)) - 2*s/log(2)) / s**3 in s**2, |s| <= 0.0866, for float32's powers",
            second,
            lambda z: z / first,
            QUARTER,
            tuple(range(3)),
        ),
        Fit(
            "LOG_64",
            "(log((1+s)/(1-s)) - 2*s) / s**3 in s**2",
            double,
            lambda z: z,
            RATIO,
            tuple(range(7)),
            "float64",
        ),
        Fit(
            "LOG2_REST",
            "log2((1+s)/(1-s)) without its first two terms, / s**5 in s**2, for float64's powers",
            rest,
            lambda z: z * z / first,
            RATIO,
            tuple(range(7)),
            "float64",
        ),
    ]


def trigonometric_fits() -> list[Fit]:
    """sin, cos, tan and their inverses."""
    near = of_square(tail(mp.cos, [(0, 1), (2, mp.mpf(-1) / 2)], 4))
    weight = of_square(relative(4, mp.cos))
    return [
        odd("SIN", "(sin(r) - r) / r**3 in r**2, |r| <= pi/4", mp.sin, EIGHTH, 3),
        Fit(
            "COS", "(cos(r) - 1 + r**2/2) / r**4 in r**2, |r| <= pi/4", near, weight, EIGHTH, tuple(range(3))
        ),
        odd("SIN_64", "as SIN", mp.sin, EIGHTH, 6, "float64"),
        Fit("COS_64", "as COS", near, weight, EIGHTH, tuple(range(6)), "float64"),
        odd(
            "TAN", "(tan(r) - r) / r**3 in r**2, |r| <= pi/4 + 1/64", mp.tan, (0, (mp.pi / 4 + SLACK) ** 2), 6
        ),
        odd("WIDE_SIN", "as SIN, for quotients in float64", mp.sin, EIGHTH, 4, "float64"),
        Fit("WIDE_COS", "as COS, for quotients in float64", near, weight, EIGHTH, tuple(range(4)), "float64"),
        odd("ATAN", "(atan(x) - x) / x**3 in x**2, |x| <= 1/2", mp.atan, (0, 0.25), 6),
        odd("ASIN", "(asin(x) - x) / x**3 in x**2, |x| <= 1/2", mp.asin, (0, 0.25), 5),
        odd("ATAN_64", "as ATAN", mp.atan, (0, 0.25), 12, "float64"),
        odd("ASIN_64", "as ASIN", mp.asin, (0, 0.25), 13, "float64"),
    ]


def error_fits() -> list[Fit]:
    """erf."""
    small, weight = of_square(tail(mp.erf, [(1, 1)], 1)), of_square(relative(1, mp.erf))
    return [
        Fit("ERF", "erf(x) / x - 1 in x**2, |x| <= 1", small, weight, (0, 1), tuple(range(7))),
        Fit(
            "ERFC",
            "log(1 - erf(x)), x in 1..4",
            lambda x: mp.log(mp.erfc(x)),
            mp.erfc,
            (1, 4),
            tuple(range(6)),
        ),
        Fit("ERF_64", "as ERF", small, weight, (0, 1), tuple(range(12)), "float64"),
        Fit(
            "ERFC_64",
            "log(1 - erf(3/2 + t)), t in -1/2..9/2",
            lambda t: mp.log(mp.erfc(t + 1.5)),
            lambda t: mp.erfc(t + 1.5),
            (-0.5, 4.5),
            tuple(range(18)),
            "float64",
        ),
    ]


def turn_digits() -> str:
    """The digits of a turn's reciprocal, as far as they count for an argument of 2**1024."""
    with mp.workprec(1400):
        number = int(mp.floor(mp.ldexp(1 / (2 * mp.pi), TURN_DIGITS * TURN_DIGIT)))
    digits = [number >> TURN_DIGIT * n & (1 << TURN_DIGIT) - 1 for n in reversed(range(TURN_DIGITS))]
    rows = ["    " + ", ".join(map(str, digits[n : n + 9])) + ",\n" for n in range(0, TURN_DIGITS, 9)]
    return "# 1 / (2*pi), 26 bits each\nTURN_DIGITS = (\n" + "".join(rows) + ")\n"


HEAD = '''"""Coefficients of polynomials, lowest power first. Made by ``python -m benchmarks.vector_math_coefficients``.

What stands beside a name is the greatest error of the polynomial, relative to the result it is used for.
"""

# fmt: off
'''


def source() -> str:
    """The file of coefficients."""
    parts = [HEAD]
    for fit in (*exponential_fits(), *logarithm_fits(), *trigonometric_fits(), *error_fits()):
        coefficients, error = derive(fit)
        parts.append(f"# {fit.what}: 2**{float(mp.log(error, 2)):.1f}\n{fit.name} = (\n")
        parts += [f"    {c!r},\n" for c in coefficients]
        parts.append(")\n")
    parts.append(turn_digits())
    return "".join(parts)


if __name__ == "__main__":
    print(source(), end="")
