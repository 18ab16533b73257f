"""Kernels as operators of PyTorch: `torch.ops` calls them, `torch.compile` sees them, autograd goes through them.

Nothing else in Loopwright imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.runtime.signature import WEIGHT

if TYPE_CHECKING:
    from loopwright.sched.runtime.bundle import Dispatch
    from loopwright.sched.runtime.kernel import Kernel
    from loopwright.sched.runtime.signature import Param, Signature

    Callee = Kernel | Dispatch

# What the gradient with respect to an array is called.
GRADIENT = "grad_"


def register(
    name: str,
    kernel: Callee,
    gradient: Callee | Sequence[Callee] = (),
    weights: torch.Tensor | Sequence[torch.Tensor] = (),
) -> Callable[..., Any]:
    """Make a kernel an operator of PyTorch, for tensors on the CPU, which are used where they lie.

    Args:
        name: ``"namespace::operator"``; it becomes ``torch.ops.namespace.operator``.
        kernel: the kernel, or a `Dispatch`.
        gradient: kernels that compute gradients. They take, by name, what they need of the inputs and outputs of ``kernel`` and
            of the gradients of its outputs (``grad_C``); their outputs are gradients of its inputs (``grad_A``). An input
            without one has no gradient.
        weights: the tensors of the kernel's weights, in order. They are packed now, once, for the kernel and for gradient kernels
            that have weights of these names; the operator then takes the other inputs. Without them, it takes all, and
            packs in every call.

    Returns:
        The operator. It takes the inputs in order, and returns a new tensor, or a tuple of them.

    Raises:
        DefinitionError: a name without a namespace, a dtype that PyTorch does not have, or a gradient kernel that takes or gives
            what ``kernel`` does not have.
        ArgumentError, ArgumentTypeError: weights that are not as declared, or given to a kernel that has none; (calls) tensors
            that the kernel does not take, as in calling it.

    Example::

        product = lw.build(ops.matmul(M=64, N=64, K=64))       # C = A B
        to_a = lw.build(gradient_of_a(64))                     # grad_A = grad_C B^T
        to_b = lw.build(gradient_of_b(64))                     # grad_B = A^T grad_C
        matmul = register("mine::matmul", product, gradient=[to_a, to_b])
        matmul(a, b).sum().backward()
    """
    if not isinstance(name, str) or [bool(part) for part in name.split("::")] != [True, True]:
        raise DefinitionError(f"an operator of PyTorch is named 'namespace::operator', not {name!r}")
    kernels = tuple(gradient) if isinstance(gradient, (list, tuple)) else (gradient,)
    given = (weights,) if isinstance(weights, torch.Tensor) else tuple(weights)
    main, *gradients = _with_weights(kernel, kernels, [tensor.detach() for tensor in given])
    for one in gradients:
        _check_gradient(main.signature, one.signature)
    operator = _operator(name, main)
    if gradients:
        steps = [
            (_operator(f"{name}_{GRADIENT}{nth}", one), one.signature) for nth, one in enumerate(gradients)
        ]
        _differentiable(operator, main.signature, steps)
    return operator


class _Packing:
    """A kernel or a dispatch with its weights packed, called with the other inputs."""

    def __init__(self, callee: Callee, weights: Sequence[Any]) -> None:
        self._callee, self._packed = callee, callee.prepack(*weights)  # refuses a kernel without weights
        roles = [p.role for p in callee.signature.inputs]
        self._first = roles.index(WEIGHT)
        signatures = [one.signature for one in getattr(callee, "kernels", (callee,))]
        self.signatures = [
            replace(s, params=tuple(p for p in s.params if p.role != WEIGHT)) for s in signatures
        ]
        self.signature = self.signatures[0]

    def __call__(self, *tensors: Any) -> Any:
        return self._callee(*tensors[: self._first], self._packed, *tensors[self._first :])


def _with_weights(
    kernel: Callee, gradients: Sequence[Callee], weights: Sequence[Any]
) -> list[Callee | _Packing]:
    """A kernel and those of its gradients, with weights packed, also those of gradients that have the same names."""
    if not weights:
        return [kernel, *gradients]
    packing = _Packing(kernel, weights)
    known = dict(zip((p.name for p in kernel.signature.weights), weights, strict=True))
    found: list[Callee | _Packing] = [packing]
    for one in gradients:
        names = [p.name for p in one.signature.weights]
        given = bool(names) and all(name in known for name in names)
        found.append(_Packing(one, [known[name] for name in names]) if given else one)
    return found


def _operator(name: str, kernel: Callee | _Packing) -> Any:
    """The operator, without gradients."""
    signature = kernel.signature
    types = [_dtype(p) for p in signature.outputs]
    single = len(types) == 1

    def compute(*tensors: torch.Tensor) -> Any:
        results = kernel(*(tensor.detach() for tensor in tensors))
        arrays = [results] if single else results
        made = [_tensor(array, dtype) for array, dtype in zip(arrays, types, strict=True)]
        return made[0] if single else tuple(made)

    def shapes(*tensors: torch.Tensor) -> Any:
        outputs = _signature_for(kernel, tensors).shapes_of_outputs
        made = [
            tensors[0].new_empty([extent(tensors) for extent in shape], dtype=dtype)
            for (shape, _), dtype in zip(outputs, types, strict=True)
        ]
        return made[0] if single else tuple(made)

    takes = ", ".join(f"Tensor {p.name}" for p in signature.inputs)
    gives = "Tensor" if single else f"({', '.join('Tensor' for _ in types)})"
    schema = f"({takes}) -> {gives}"
    operator = torch.library.custom_op(name, compute, mutates_args=(), device_types="cpu", schema=schema)
    operator.register_fake(shapes)
    return operator


def _differentiable(operator: Any, signature: Signature, steps: Sequence[tuple[Any, Signature]]) -> None:
    """Let autograd go through an operator by the operators that compute its gradients."""
    input_names, output_names = [p.name for p in signature.inputs], [p.name for p in signature.outputs]
    needed = {p.name for _, step in steps for p in step.inputs}
    saved = [name for name in (*input_names, *output_names) if name in needed]

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        known = dict(zip((*input_names, *output_names), (*inputs, *outputs), strict=True))
        ctx.save_for_backward(*(known[name] for name in saved))

    def backward(ctx: Any, *gradients: Any) -> Any:
        known = dict(zip(saved, ctx.saved_tensors, strict=True))
        for name, value in zip(output_names, gradients, strict=True):
            known[GRADIENT + name] = value.contiguous()
        asked = zip(input_names, ctx.needs_input_grad, strict=True)
        wanted = {GRADIENT + name for name, is_needed in asked if is_needed}
        found: dict[str, Any] = {}
        for compute, step in steps:
            if wanted & {p.name for p in step.outputs}:
                results = compute(*(known[p.name] for p in step.inputs))
                results = results if isinstance(results, (tuple, list)) else (results,)
                found.update(zip((p.name for p in step.outputs), results, strict=True))
        answer = tuple(found.get(GRADIENT + name) for name in input_names)
        return answer if len(answer) > 1 else answer[0]

    operator.register_autograd(backward, setup_context=keep)


def _check_gradient(signature: Signature, gradient: Signature) -> None:
    """A gradient kernel takes what there is, and gives gradients of inputs."""
    there = [p.name for p in signature.in_call_order] + [GRADIENT + p.name for p in signature.outputs]
    wanted = [GRADIENT + p.name for p in signature.inputs]
    for params, known, verb in ((gradient.inputs, there, "takes"), (gradient.outputs, wanted, "gives")):
        for p in params:
            if p.name not in known:
                raise DefinitionError(
                    f"the gradient kernel {gradient.name} {verb} {p.name}; for {signature.name} there is {', '.join(known)}"
                )


def _signature_for(kernel: Callee | _Packing, tensors: Sequence[torch.Tensor]) -> Signature:
    """The signature by which a call goes, found by shapes alone: the tensors may hold no numbers."""
    if isinstance(kernel, _Packing):
        signatures = kernel.signatures
    else:
        signatures = [one.signature for one in getattr(kernel, "kernels", (kernel,))]
    shapes = [tuple(tensor.shape) for tensor in tensors]
    exact = (s for s in signatures if not s.sizes and [p.extents for p in s.inputs] == shapes)
    symbolic = (s for s in signatures if s.sizes)
    return next(exact, None) or next(symbolic, signatures[0])


def _dtype(param: Param) -> torch.dtype:
    found = getattr(torch, param.dtype, None)
    if not isinstance(found, torch.dtype):
        raise DefinitionError(f"PyTorch has no dtype {param.dtype}, that of {param.name}")
    return found


def _tensor(array: np.ndarray[Any, Any], dtype: torch.dtype) -> torch.Tensor:
    """A kernel's output as a tensor over the same memory."""
    if array.dtype.name in dtypes.NARROW:
        bits = np.dtype(f"int{array.itemsize * 8}")
        return torch.from_numpy(array.view(bits)).view(dtype)
    return torch.from_numpy(array)
