"""Einstein notation: the same stages as written by hand, and clear words about what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload


def work_of(define: Callable[[], Any]) -> Workload:
    return lw.operator(define)()


def einsum(text: str, **given: Any) -> Workload:
    return work_of(lambda: lw.einsum(text, **given))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_products_have_the_key_of_the_definition_by_hand(dtype: str) -> None:
    made = einsum("C[i,j] += A[i,k] * B[k,j]", i=4, j=5, k=6, dtype=dtype)
    assert made.key == ops.matmul(M=4, N=5, K=6, dtype=dtype).key
    assert [t.name for t in made.inputs] == ["A", "B"]
    made = einsum("C[b,i,j] += A[b,i,k] * B[b,j,k]", b=2, i=4, j=5, k=6, dtype=dtype)
    assert made.key == ops.batch_matmul(B=2, M=4, N=5, K=6, dtype=dtype, tb=True).key


def test_expressions_have_the_key_of_the_definition_by_hand() -> None:
    def by_hand() -> Any:
        x, bias = lw.input("x", (4, 5)), lw.input("bias", (5,))

        def value(i: Any, j: Any) -> Any:
            y = lw.exp(-x[i, j]) * 0.5 + bias[j] // 2.0
            return lw.select(y > 0, lw.max(y, 1), lw.cast("float32", i) + 6)

        return lw.compute("y", (4, 5), value)

    y = "(exp(-x[i,j]) * alpha + bias[j] // 2.0)"
    text = f"y[i,j] = select({y} > 0, max({y}, 1), cast('float32', i) + 2 * 3)"
    assert einsum(text, i=4, j=5, alpha=0.5).key == work_of(by_hand).key
    other = text.replace("cast('float32', i)", "float32(i)").replace("exp", "lw.exp")
    assert einsum(other, i=4, j=5, alpha=0.5).key == work_of(by_hand).key


def test_convolution_infers_the_size_of_its_input(rng: np.random.Generator) -> None:
    work = einsum("O[x] += I[2*x + r] * W[r]", x=5, r=3)
    assert work.tensor("I").shape == (11,)
    image, kernel = rng.standard_normal(11, dtype="f"), rng.standard_normal(3, dtype="f")
    want = np.convolve(image, kernel[::-1], "valid")[::2]
    np.testing.assert_allclose(work.reference(image, kernel), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("y[i] += x[i,k]", lambda x: x.sum(1)),
        ("y[i] *= x[i,k]", lambda x: x.prod(1)),
        ("y[k] max= x[i,k]", lambda x: x.max(0)),
        ("y min= x[i,k]", lambda x: x.min()),
        ("y[] += x[i,k] * x[i,k]", lambda x: (x * x).sum()),
        ("y[k,i] = x[i,k]", lambda x: x.T),
    ],
)
def test_every_sign(text: str, want: Callable[[Any], Any], rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 6), dtype=np.float32)
    np.testing.assert_allclose(einsum(text, i=4, k=6).reference(x), want(x), rtol=1e-5)


def test_reduction_axes_come_in_the_order_of_the_text() -> None:
    stage = lw.einsum("O[o] += W[o,c,r] * I[c,r]", o=2, c=3, r=4)
    assert [axis.name for axis in stage.all_axes] == ["o", "c", "r"]
    stage = lw.einsum("O[o] += I[r,c] * W[o,c,r]", o=2, c=3, r=4)
    assert [axis.name for axis in stage.all_axes] == ["o", "r", "c"]


def test_given_tensors_give_sizes_and_stages_follow_stages(rng: np.random.Generator) -> None:
    def define() -> Any:
        x = lw.input("table", (4, 6))
        squares = lw.einsum("squares[i,k] = x[i,k] * x[i,k]", x=x)
        total = lw.einsum("total += s[i,k]", s=squares)
        return lw.einsum("y[i,k] = x[i,k] / total", x=x, total=total)

    x = rng.standard_normal((4, 6), dtype=np.float32)
    np.testing.assert_allclose(work_of(define).reference(x), x / (x * x).sum(), rtol=1e-5)


def test_types() -> None:
    work = einsum("C[i,j] += A[i,k] * B[k,j]", i=2, j=3, k=4, dtype={"A": "uint8", "B": "int8"})
    assert [t.dtype for t in work.inputs] == ["uint8", "int8"]
    assert work.outputs[0].dtype == "int32"
    assert einsum("C[i] += A[i,k]", i=2, k=4, dtype="float16", acc="float64").outputs[0].dtype == "float64"


def test_a_gather_from_a_given_tensor() -> None:
    def define() -> Any:
        return lw.einsum(
            "y[i,j] = table[at[i], j]", i=3, table=lw.input("table", (9, 2)), dtype={"at": "int32"}
        )

    table = np.arange(18, dtype="f").reshape(9, 2)
    np.testing.assert_array_equal(
        work_of(define).reference(table, np.array([8, 0, 3], "int32")), table[[8, 0, 3]]
    )


ONE = "the whole message"


@pytest.mark.parametrize(
    ("text", "given", "part", "words"),
    [
        (
            "C[i,j] += A[i,k] * B[k,j]",
            {"i": 4, "j": 5},
            "k",
            "the size of the axis k is not given; add k=...",
        ),
        ("C[i,j] += A[i,k] * B[k,q]", {"i": 4, "j": 5, "k": 6}, "j", "the axis j stands on the left only"),
        (
            "C[i] += A[i,k]",
            {"i": 4, "k": 6, "z": 3},
            None,
            "z= is given, but the formula has no axis or tensor of that name",
        ),
        ("C[i] = A[i,k]", {"i": 4, "k": 5}, None, "k: on the right only, so something must be done over it"),
        ("C[i] += A[i]", {"i": 4}, None, "there are none; write ="),
        ("C[i,i] = A[i]", {"i": 4}, "i", "the axis i stands twice on the left"),
        ("C[i+1] = A[i]", {"i": 4}, "i+1", "every index is the plain name of an axis"),
        ("A[i] + 1 = C[i]", {"i": 4}, "A[i] + 1", "the left side is the element being defined"),
        ("C[i] -= A[i]", {"i": 4}, None, "a formula is written with =, +=, *=, max= or min="),
        ("C[i] == A[i]", {"i": 4}, None, "there is no =, +="),
        ("C[i] = A[i] +", {"i": 4}, None, "no expression in Python's syntax: A[i] +"),
        ("C[i = A[i]", {"i": 4}, None, "no expression in Python's syntax"),
        ("C[i] = foo(A[i])", {"i": 4}, "foo(A[i])", "foo is no function of a formula; there are abs, "),
        ("C[i] = exp(A[i], 1)", {"i": 4}, "exp(A[i], 1)", "takes 1 positional argument"),
        ("C[i] = A[i] if 1 else 2", {"i": 4}, "A[i] if 1 else 2", "this cannot stand in a formula"),
        ("C[i] = A[i] and A[i]", {"i": 4}, "A[i] and A[i]", "this cannot stand in a formula"),
        ("C[i] = A[i:2]", {"i": 4}, "i:2", "this cannot stand in a formula"),
        ("C[i] += A[i,k] / K", {"i": 4, "k": 4, "K": 4}, "K", "a number is given as a float: K=2.0"),
        (
            "C[i] += A[i,k] * A[k,i]",
            {"i": 4, "k": 5},
            "k",
            "one dimension of A is indexed by axes of different sizes: i=4, k=5",
        ),
        ("C[i] = A[i] + A[i,0]", {"i": 4}, "A[i,0]", "A has 1 and 2 indices in different places"),
        ("C[i] = A[i-1]", {"i": 4}, "i-1", "this index of A goes down to -1"),
        (
            "C[i] = A[B[i]]",
            {"i": 4},
            "B[i]",
            "the size of A does not follow from this index; give the tensor",
        ),
        ("C[i] = A[i] ** i", {"i": 4, "dtype": "int32"}, "A[i] ** i", "the exponent is a constant"),
        (
            "C[i] = A[i]",
            {"i": 4, "A": lw.input("A", (5,))},
            "i",
            "dimension 0 of A (5,) is 5, but the axis i is 4",
        ),
        (
            "C[i] = A[i,0]",
            {"i": 4, "A": lw.input("A", (4,))},
            "A[i,0]",
            "A has 1 dimensions (4,), but 2 indices",
        ),
        (
            "C[i] = A[i] + A",
            {"A": lw.input("A", (4,))},
            "A",
            "A is a tensor of 1 dimensions; write an element of it",
        ),
        ("C[i] = C[i]", {"i": 4}, "C[i]", "C is what is being defined; it cannot be read"),
        ("C[i] = i[i]", {"i": 4}, "i[i]", "i is both an axis and a tensor"),
        ("C[i] = A[i]", {"i": "4"}, "i", "i='4' is no size of an axis"),
        ("C[i] = A[i]", {"i": -4}, "i", "i=-4 is no size of an axis"),
        ("C[i] = A[i]", {"i": 4, "dtype": {"B": "int8"}}, None, "dtype= names 'B'"),
        ("C[i] max= A[i,k]", {"i": 4, "k": 2, "acc": "float64"}, None, "acc= is for sums and products"),
        ("", {}, None, "there is no =, +="),
        ("C[i] = \n A[i]", {"i": 4}, ONE, "is no formula; write one line"),
    ],
)
def test_what_does_not_fit(text: str, given: dict[str, Any], part: str | None, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        einsum(text, **given)
    lines = str(caught.value).splitlines()
    assert words in lines[-1]
    if part is ONE:
        return
    assert lines[0] == f"einsum: {text}"
    assert len(lines) == (2 if part is None else 3)
    if part is not None:
        marked = lines[0][lines[1].index("^") : len(lines[1])]
        assert marked == part


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(DefinitionError, match="input 'A': unknown dtype 'f4x'"):
        einsum("C[i] = A[i]", i=4, dtype="f4x")
