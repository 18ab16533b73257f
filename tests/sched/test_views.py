"""What a schedule shows of itself: explanations, drawings, differences, profiles."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.views.outline import outline
from tests.sched.workloads import matmul

TARGET = {"kind": "cpu", "mcpu": "znver3", "cores": 2, "features": ["avx2", "fma"], "l1": 32768, "l2": 524288}


def tiled() -> lw.Schedule:
    return (
        matmul(64, 32, 16)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 16))
        .reorder("C", "io jo k ii ji")
        .unroll("C.ii")
        .vectorize("C.ji")
        .parallel("C.io")
    )


# --- explain -------------------------------------------------------------------------------------------------------


def test_explain_counts_what_a_tiled_product_touches() -> None:
    facts = tiled().explain(TARGET)
    loops = {loop.loop: loop for loop in facts.loops}
    outer, inner = loops["C.io"], loops["C.k"]
    assert (outer.iterations, outer.entered, outer.kind) == (16, 1, "parallel")
    assert outer.touched == {"A": 4 * 16 * 4, "B": 16 * 32 * 4, "C_acc": 4 * 16 * 4, "C": 4 * 32 * 4}
    assert outer.fits == "L1"
    # One step over k: 4 elements of A, 16 of B, into 64 accumulators.
    assert (inner.iterations, inner.entered) == (16, 16 * 2)
    assert inner.touched == {"A": 16, "B": 64, "C_acc": 256}
    assert inner.operations == 2 * 64
    assert inner.loads == 3 * 64
    assert facts.operations == 2 * 64 * 32 * 16
    assert facts.bytes == 4 * (64 * 16 + 16 * 32 + 64 * 32)


def test_explain_knows_lanes_accumulators_and_threads() -> None:
    (stage,) = tiled().explain(TARGET).stages
    assert (stage.name, stage.lanes, stage.accumulators, stage.threads, stage.tasks) == ("C", 16, 8, 2, 16)


def test_explain_counts_the_loads_and_stores_of_buffers() -> None:
    facts = tiled().cache_read("B", at="C.io").explain(TARGET)
    buffers = {b.name: b for b in facts.buffers}
    assert buffers["B"].loads == 16 * 16 * 32  # copied once for each row of tiles
    assert buffers["B_global"].stores == 16 * 16 * 32
    assert buffers["C"].stores == 64 * 32
    assert buffers["A"].loads == 64 * 32 * 16


def test_explain_counts_the_steady_state_of_a_loop_with_a_tail() -> None:
    plain = matmul(10, 6, 3).schedule().split("C.i", ("io", "ii"), 4)
    loops = {loop.loop: loop for loop in plain.explain(TARGET).loops}
    assert loops["C.io"].iterations == 2
    assert loops["C.ii"].iterations == 4


def test_explain_reads_whole_what_depends_on_data() -> None:
    @lw.operator
    def gather(N: int) -> object:
        table = lw.input("table", (100,), "float32")
        at = lw.input("at", (N,), "int32")
        return lw.compute("out", (N,), lambda i: table[lw.clip(at[i], 0, 99)])

    (loop,) = gather(8).schedule().explain(TARGET).loops
    assert loop.touched == {"table": 400, "at": 4, "out": 4}


def test_an_explanation_prints_as_tables() -> None:
    text = str(tiled().explain(TARGET))
    assert "parallel C.io" in text
    assert "8 of 16 registers" in text
    assert all(len(line) < 140 for line in text.splitlines())


def test_a_schedule_with_knobs_is_not_explained() -> None:
    template = matmul(8, 8, 8).schedule().split("C.i", ("io", "ii"), lw.knob("n", [2, 4]))
    with pytest.raises(lw.ScheduleError, match="knobs"):
        template.explain(TARGET)


# --- drawings ------------------------------------------------------------------------------------------------------


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [e.text or "" for e in root.iter() if e.tag.endswith("text")]


def test_the_nest_is_drawn_with_a_box_for_each_loop() -> None:
    drawing = tiled().draw()
    lines = [line for top in outline(str(tiled())) for line in top.walk()]
    assert set(texts(drawing.svg)) >= {line.text for line in lines}
    boxes = ElementTree.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}rect")
    assert len(list(boxes)) == sum(bool(line.inside) or line.kind == "buffer" for line in lines)


def test_the_graph_has_a_node_for_each_tensor_and_an_arrow_for_each_use(tmp_path: Path) -> None:
    from loopwright import ops

    work = ops.softmax(M=4, N=8)
    path = work.draw().save(tmp_path / "graph.svg")
    root = ElementTree.parse(path).getroot()
    nodes = [e for e in root if e.tag.endswith("rect")]
    arrows = [e for e in root if e.tag.endswith("line")]
    assert len(nodes) == len(work.inputs) + len(work.stages)
    assert len(arrows) >= len(nodes) - 1


def test_text_in_drawings_is_escaped() -> None:
    @lw.operator
    def less() -> object:
        a = lw.input("a", (4,), "float32")
        return lw.compute("b", (4,), lambda i: lw.select(a[i] < 0, 0.0, a[i]))

    schedule = less().schedule()
    assert any("a[i] < 0" in t for t in texts(schedule.draw().svg))
    assert "a[i] &lt; 0" in schedule._repr_html_()


def test_a_drawing_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(lw.ScheduleError, match=r"nowhere.*cannot be written"):
        tiled().draw().save(tmp_path / "nowhere" / "x.svg")


# --- differences ---------------------------------------------------------------------------------------------------


def test_a_difference_shows_directives_and_loops() -> None:
    base = matmul(8, 8, 8).schedule().split("C.i", ("io", "ii"), 4)
    assert base.diff(base) == ""
    lines = base.diff(base.parallel("C.io")).splitlines()
    assert any(line.startswith("+") and "parallel" in line for line in lines)
    assert any(line.startswith("-") and "for C.io" in line for line in lines)
    assert any(line.startswith("+") and "parallel C.io" in line for line in lines)


# --- profiles ------------------------------------------------------------------------------------------------------


def chain() -> lw.Schedule:
    @lw.operator
    def two_steps(N: int) -> object:
        a = lw.input("a", (N, N), "float32")
        k = lw.reduce_axis("k", N)
        b = lw.compute("b", (N, N), lambda i, j: lw.sum(a[i, k] * a[k, j], over=k))
        c = lw.compute("c", (N, N), lambda i, j: b[i, j] + 1)
        return lw.compute("d", (N, N), lambda i, j: c[i, j] * 2)

    return two_steps(96).schedule()


def test_a_profile_times_each_stage_at_root() -> None:
    kernel = lw.build(chain().work, schedule=chain())
    a = np.ones((96, 96), np.float32)
    found = kernel.profile(a)
    assert [stage.name for stage in found.stages] == ["b", "c", "d"]
    assert sum(stage.share for stage in found.stages) == pytest.approx(1)
    # The product does 96 times the work of the others.
    assert found.stages[0].share > found.stages[1].share
    assert found.stages[0].operations == 2 * 96**3
    assert "share" in str(found)


def test_a_profile_counts_stages_inside_loops_with_their_host() -> None:
    schedule = chain().compute_at("c", "d.i").parallel("d.i")
    found = lw.build(schedule.work, schedule=schedule).profile(np.ones((96, 96), np.float32))
    assert [(stage.name, stage.inside) for stage in found.stages] == [("b", ()), ("d", ("c",))]


def test_a_profile_checks_its_arguments() -> None:
    kernel = lw.build(chain().work, schedule=chain())
    with pytest.raises(lw.ArgumentError):
        kernel.profile(np.ones((96, 95), np.float32))


def test_a_loaded_library_cannot_be_profiled(tmp_path: Path) -> None:
    kernel = lw.build(chain().work, schedule=chain())
    loaded = lw.load(kernel.export(tmp_path / "chain.so"))
    with pytest.raises(lw.BuildError, match="loaded from a library"):
        loaded.profile(np.ones((96, 96), np.float32))
