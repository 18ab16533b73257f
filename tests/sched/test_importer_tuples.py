"""Reductions over tuples as TVM writes them: argmin and argmax of TE, topi and Relax; and stages of tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx, topi
from tvm.script import relax as R
from tvm.script import tirx as T

from loopwright.sched.importer import from_te, from_tir
from tests.sched.test_importer import agrees


def first_of_equals(name: str = "argmax") -> Any:
    """The reducer of TVM's tutorial on tuples: of equal values the one that was there stays."""

    def combine(x: Any, y: Any) -> tuple[Any, Any]:
        keeps = x[1] >= y[1]
        return tirx.Select(keeps, x[0], y[0]), tirx.Select(keeps, x[1], y[1])

    return te.comm_reducer(combine, lambda t0, t1: (tirx.const(-1, t0), te.min_value(t1)), name=name)


def test_the_tuple_reduction_of_tvms_tutorial_keeps_its_order() -> None:
    index, value = te.placeholder((6, 9), "int32", name="index"), te.placeholder((6, 9), name="value")
    k = te.reduce_axis((0, 9), name="k")
    best = te.compute((6,), lambda i: first_of_equals()((index[i, k], value[i, k]), axis=k), name="T")
    rng = np.random.default_rng(0)
    given = rng.integers(0, 90, (6, 9)).astype("int32"), rng.integers(-2, 3, (6, 9)).astype("float32")
    work = agrees(te.create_prim_func([index, value, *best]), *given)
    (stage,) = work.stages
    assert (stage.name, [reducer.commutative for reducer in stage.reducers]) == ("T", [False])


def test_where_the_index_counts_it_is_our_own_argmax() -> None:
    value = te.placeholder((6, 4, 5), name="value")
    r, c = te.reduce_axis((0, 4), name="r"), te.reduce_axis((0, 5), name="c")
    best = te.compute(
        (6,), lambda i: first_of_equals()((r.var * 5 + c.var, value[i, r, c]), axis=[r, c]), name="T"
    )
    rng = np.random.default_rng(0)
    work = agrees(te.create_prim_func([value, *best]), rng.integers(-2, 3, (6, 4, 5)).astype("float32"))
    (stage,) = work.stages
    assert stage.reduce is not None
    assert (stage.reduce.op, stage.reducers) == ("argmax", ())
    turned = te.compute(
        (6,), lambda i: first_of_equals()((c.var * 4 + r.var, value[i, r, c]), axis=[r, c]), name="T"
    )
    assert from_te([value, *turned]).stages[0].reducers


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_topis_argmin_and_argmax(axis: int | None, dtype: str) -> None:
    x = te.placeholder((5, 7), dtype, name="x")
    given = np.random.default_rng(0).integers(-2, 3, (5, 7)).astype(dtype)
    for function, same in ((topi.argmax, np.argmax), (topi.argmin, np.argmin)):
        work = agrees(te.create_prim_func([x, function(x, axis=axis)]), given)
        np.testing.assert_array_equal(work.reference(given), same(given, axis=axis))
        assert work.stages[0].reduce is not None
        assert work.stages[0].reduce.op == same.__name__


def test_relaxs_argmax_counts_in_int64() -> None:
    @tvm.script.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((5, 7), "float32")):
            with R.dataflow():
                out = R.argmax(x, axis=1)
                R.output(out)
            return out

    (func,) = (
        f for f in relax.transform.LegalizeOps()(Module).functions.values() if isinstance(f, tirx.PrimFunc)
    )
    work = agrees(func)
    assert work.outputs[0].dtype == "int64"


def test_a_block_that_stores_two_parts_of_an_element() -> None:
    @T.prim_func(s_tir=True)
    def ends(
        x: T.Buffer((4, 6), "float32"), low: T.Buffer((4, 6), "float32"), high: T.Buffer((4, 6), "float32")
    ):
        for i, j in T.grid(4, 6):
            with T.sblock("ends"):
                vi, vj = T.axis.remap("SS", [i, j])
                low[vi, vj] = T.min(x[vi, vj], T.float32(0))
                high[vi, vj] = T.max(x[vi, vj], T.float32(0))

    work = agrees(ends)
    assert [tensor.name for tensor in work.outputs] == ["ends.0", "ends.1"]
    assert from_tir(ends).schedule().nests.stages.keys() == {"ends"}
