"""Kernels in PyTorch: tensors in and out without copies, operators of torch.library, autograd."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import ArgumentError, ArgumentTypeError, DefinitionError

torch = pytest.importorskip("torch", reason="torch is not installed")

from loopwright import pytorch  # noqa: E402


@lw.operator
def product(M: int, N: int, K: int, dtype: str = "float32") -> object:
    A, B = lw.input("A", (M, K), dtype), lw.input("B", (K, N), dtype)
    k = lw.reduce_axis("k", K)
    return lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))


@lw.operator
def gradient_of_a(M: int, N: int, K: int) -> object:
    G, B = lw.input("grad_C", (M, N)), lw.input("B", (K, N))
    j = lw.reduce_axis("j", N)
    return lw.compute("grad_A", (M, K), lambda i, k: lw.sum(G[i, j] * B[k, j], over=j))


@lw.operator
def gradient_of_b(M: int, N: int, K: int) -> object:
    A, G = lw.input("A", (M, K)), lw.input("grad_C", (M, N))
    i = lw.reduce_axis("i", M)
    return lw.compute("grad_B", (K, N), lambda k, j: lw.sum(A[i, k] * G[i, j], over=i))


def test_tensors_go_in_and_out_where_they_lie() -> None:
    kernel = lw.build(ops.matmul(M=5, N=7, K=3))
    a, b, c = torch.rand(5, 3), torch.rand(3, 7), torch.empty(5, 7)
    assert kernel(a, b, out=c) is c
    torch.testing.assert_close(c, a @ b)
    torch.testing.assert_close(torch.from_numpy(kernel(a, b)), a @ b)
    for wrong, error, match in (
        ((a.double(), b), ArgumentTypeError, "argument A has dtype float64; expected float32"),
        ((a[:4], b), ArgumentError, "argument A has shape \\(4, 3\\)"),
        ((a, torch.rand(7, 3).T), ArgumentError, "argument B has strides"),
        ((a.to("meta"), b), ArgumentTypeError, "argument A"),
        (
            (a, b[:2].requires_grad_()),
            ArgumentTypeError,
            "argument B .*tensors that require gradient, use tensor.detach",
        ),
    ):
        with pytest.raises(error, match=match):
            kernel(*wrong)


def test_narrow_floats() -> None:
    x = lw.input("x", (3, 4), "bfloat16")
    kernel = lw.build(lw.Workload("turn", {}, [x], [lw.compute("y", (4, 3), lambda i, j: x[j, i])]))
    given, out = torch.rand(3, 4).bfloat16(), torch.empty(4, 3, dtype=torch.bfloat16)
    kernel(given, out=out)
    assert torch.equal(out, given.T)
    assert torch.equal(pytorch.register("loopwright_test::turn", kernel)(given), given.T)
    with pytest.raises(ArgumentError, match="argument x has strides"):
        kernel(torch.rand(4, 3).bfloat16().T)


def test_an_operator_with_gradients() -> None:
    sizes = [lw.size("M"), lw.size("N"), lw.size("K")]
    kernels = [lw.build(one(*sizes)) for one in (product, gradient_of_a, gradient_of_b)]
    operator = pytorch.register("loopwright_test::product", kernels[0], gradient=kernels[1:])
    a, b = torch.rand(5, 3, requires_grad=True), torch.rand(3, 7, requires_grad=True)
    torch.testing.assert_close(operator(a, b), a @ b)
    torch.testing.assert_close(torch.ops.loopwright_test.product(a, b), a @ b)
    ours = torch.autograd.grad(operator(a, b).sum(), (a, b))
    theirs = torch.autograd.grad((a @ b).sum(), (a, b))
    torch.testing.assert_close(ours, theirs)
    (only_b,) = torch.autograd.grad((operator(a.detach(), b) ** 2).sum(), b)
    torch.testing.assert_close(only_b, torch.autograd.grad(((a @ b) ** 2).sum(), b)[0])
    torch.library.opcheck(operator, (a, b))
    with pytest.raises(ArgumentError, match="argument B has shape"):
        operator(a, b[:2])


def test_several_outputs_and_a_dispatch() -> None:
    def split(rows: object) -> lw.Kernel:
        x = lw.input("x", (rows, 2))
        halves = [lw.compute(f"y{n}", (rows,), lambda i, n=n: x[i, n] * 2) for n in range(2)]
        return lw.build(lw.Workload("split", {}, [x], halves))

    operator = pytorch.register("loopwright_test::split", lw.Dispatch([split(4), split(lw.size("rows"))]))
    for rows in (4, 9, 0):
        x = torch.rand(rows, 2)
        for half, ours in enumerate(operator(x)):
            torch.testing.assert_close(ours, x[:, half] * 2)
        torch.library.opcheck(operator, (x,))


def test_what_is_refused() -> None:
    kernel, gradient = lw.build(product(2, 2, 2)), lw.build(gradient_of_a(2, 2, 2))
    for name in ("product", "a::b::c", "::product", 3):
        with pytest.raises(DefinitionError, match="is named 'namespace::operator'"):
            pytorch.register(name, kernel)  # type: ignore[arg-type]
    softmax = lw.build(ops.softmax(2, 2))
    with pytest.raises(
        DefinitionError, match="gradient_of_a takes grad_C; for softmax there is X, Y, grad_Y"
    ):
        pytorch.register("loopwright_test::softmax", softmax, gradient=gradient)
    with pytest.raises(
        DefinitionError, match="the gradient kernel product gives C; for product there is grad_A, grad_B"
    ):
        pytorch.register("loopwright_test::twice", kernel, gradient=kernel)
    x = lw.input("x", (2,), "float8_e3m4")
    odd = lw.build(lw.Workload("odd", {}, [x], [lw.compute("y", (2,), lambda i: x[i])]))
    with pytest.raises(DefinitionError, match="PyTorch has no dtype float8_e3m4, that of y"):
        pytorch.register("loopwright_test::odd", odd)


def test_weights_are_packed_when_it_is_registered() -> None:
    @lw.operator
    def to_x(M: int, N: int, K: int) -> object:
        G, W = lw.input("grad_C", (M, N)), lw.input("W", (N, K), weight=True)
        j = lw.reduce_axis("j", N)
        return lw.compute("grad_X", (M, K), lambda i, k: lw.sum(G[i, j] * W[j, k], over=j))

    layer = lw.build(ops.dense(M=5, N=16, K=12, weights="W bias"))
    w, bias = torch.rand(16, 12, requires_grad=True), torch.rand(16)
    dense = pytorch.register("loopwright_tests::layer", layer, [lw.build(to_x(5, 16, 12))], weights=[w, bias])
    x = torch.rand(5, 12, requires_grad=True)
    dense(x).sum().backward()
    torch.testing.assert_close(dense(x), torch.nn.functional.linear(x, w, bias))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, w.detach().sum(0).expand(5, 12))
    torch.library.opcheck(dense, (x.detach(),))
    rows = lw.size("rows")
    several = lw.Dispatch([lw.build(ops.matmul(M=m, N=7, K=3, weights="B")) for m in (4, rows)])
    b = torch.rand(3, 7)
    product_of = pytorch.register("loopwright_tests::several", several, weights=b)
    for count in (4, 9):
        a = torch.rand(count, 3)
        torch.testing.assert_close(product_of(a), a @ b)
    with pytest.raises(ArgumentTypeError, match="missing: bias"):
        pytorch.register("loopwright_tests::lacking", layer, weights=w)
    with pytest.raises(ArgumentTypeError, match="has no weights"):
        pytorch.register("loopwright_tests::none", lw.build(product(2, 2, 2)), weights=b)
