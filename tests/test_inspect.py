"""Looking inside: eval, explain and report."""

from __future__ import annotations

import gc
import xml.etree.ElementTree as ET
from io import StringIO
from weakref import ref

import numpy as np
import pytest
from rich.console import Console

import nabla_array as xp
from nabla_array import eval
from nabla_array._lazy.config import config
from nabla_array._lazy.graph.node import LIMIT
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run.evaluator import evaluate
from nabla_array._lazy.stats import Stats, stats
from nabla_array._namespace.core.array import Array
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.inspect import Step, explain, report
from nabla_array.inspect.layout import Edge, layered, longest_paths
from nabla_array.inspect.text import bytes_text

BIG = np.arange(250_000.0).reshape(500, 500)


def pending(x: Array) -> bool:
    return x._node.value is None


def printed(renderable: object) -> str:
    out = StringIO()
    Console(width=200, file=out).print(renderable)
    return out.getvalue()


# -- eval ------------------------------------------------------------------------------------------


def test_eval_runs_all_arrays_at_once_and_returns_its_arguments() -> None:
    x = xp.exp(xp.asarray(BIG))
    y, z = x + 1, x * 2
    tree = {"y": y, "more": [(z, None), "text"]}
    before = stats.evaluations
    out = eval(x, tree)
    assert out[0] is x
    assert out[1] is tree
    assert not any(map(pending, (x, y, z)))
    assert stats.evaluations == before + 1


def test_eval_of_one_argument_returns_it() -> None:
    x = xp.asarray([1.0]) + 1
    assert eval(x) is x
    assert eval([x])[0] is x
    assert eval() == ()
    assert not pending(x)


def test_eval_sees_writes_through_views() -> None:
    x = xp.asarray(np.zeros(4))
    v = x[1:3]
    x[1] = 5.0
    eval(v)
    assert v.tolist() == [5.0, 0.0]


# -- explain ---------------------------------------------------------------------------------------


def test_explain_evaluates_nothing_and_keeps_nothing() -> None:
    x = xp.asarray(BIG)
    y = xp.sqrt(x + 1) * 2
    before = stats.evaluations
    explanation = explain(y)
    assert pending(y)
    assert stats.evaluations == before
    node, leaf = ref(y._node), ref(x._node)
    del x, y
    gc.collect()
    assert node() is None
    assert leaf() is None
    assert "sqrt" in str(explanation)


def test_explain_foresees_the_regions_that_run() -> None:
    x, y = xp.asarray(BIG), xp.asarray(BIG.T.copy())
    z = xp.exp(x * y) @ (xp.exp(x) - y) + 1
    foreseen = sum(step.kind == "fused" for step in explain(z).steps)
    before = stats.fusion_groups
    eval(z)
    assert stats.fusion_groups - before == foreseen == 3


def test_a_region_says_what_it_moves() -> None:
    with config(threads=2, mode="host"):
        explanation = explain((xp.asarray(BIG) + 1) * 2)
    (step,) = explanation.steps
    assert step.kind == "fused"
    assert (step.reads, step.writes, step.unstored) == (BIG.nbytes, BIG.nbytes, BIG.nbytes)
    assert step.blocks == 0 if compiled else step.blocks > 1
    assert step.threads <= 2
    assert str(explanation) == (
        "float64[500, 500]: pending as %4\n"
        "2 operations, 1 fusion group; reads 2 MB, writes 2 MB; 2 MB in between are never stored\n"
        "inputs\n"
        "  %0: float64[500, 500], 2 MB\n"
        f"1. fusion group of 2 operations: host, in blocks on {step.threads} "
        f"thread{'s' * (step.threads > 1)}; "
        "reads 2 MB, writes 2 MB\n"
        "  %3: float64[500, 500] = add(%0, 1.0)\n"
        "  %4: float64[500, 500] = mul(%3, 2.0)"
    )


def test_what_another_array_holds_is_kept() -> None:
    x = xp.asarray(BIG)
    held = x + 1
    assert "add(%0, 1.0)  (kept: in use elsewhere)" in str(explain(held * 2))
    alone = explain((x + 1) * 2)  # not within an assert, which holds what is in between
    assert "kept" not in str(alone)


def test_calls_and_views() -> None:
    x = xp.asarray(BIG)
    y = xp.asarray(np.ones((800, 800)))  # below 4 MB a view is there at once
    call, both = explain(x @ x).steps, explain(y.T @ y).steps
    assert [(s.kind, s.reads, s.writes) for s in call] == [("call", BIG.nbytes, BIG.nbytes)]
    assert [s.kind for s in both] == ["view", "call"]
    assert (both[0].reads, both[0].writes) == (0, 0)
    assert [s.kind for s in explain(y.T).steps] == ["small"]  # there is nothing to compute


def test_a_broadcast_operand_counts_once() -> None:
    x = xp.asarray(np.ones((1000, 800)))
    (*views, region) = explain(x + x[0]).steps
    assert {s.kind for s in views} == {"view"}
    assert (region.reads, region.writes, region.unstored) == (x.nbytes + x[0].nbytes, x.nbytes, 0)


@pytest.mark.usefixtures("recorded")
def test_small_arrays_run_one_by_one() -> None:
    explanation = explain(xp.sin(xp.asarray([1.0, 2.0])) + 1)
    assert [step.kind for step in explanation.steps] == ["small"]
    assert "2 small operations: host, one by one" in str(explanation)


def test_an_evaluated_array_says_so() -> None:
    x = xp.asarray([1.0, 2.0])
    assert str(explain(x)) == "float64[2]: evaluated, 16 B"
    y = xp.asarray(BIG) + 1
    text = str(explain(x, {"y": [y]}))
    assert text.startswith("float64[2]: evaluated, 16 B\nfloat64[500, 500]: pending as %2\n1 operation, ")


@pytest.mark.usefixtures("recorded")
def test_long_steps_are_cut_short() -> None:
    x = xp.asarray([1.0])
    for _ in range(100):
        x = x + 1
    lines = str(explain(x)).splitlines()
    assert len(lines) < 40
    assert any(line == "  ... 76 more" for line in lines)


def test_the_tree_says_what_the_text_says() -> None:
    explanation = explain(xp.exp(xp.asarray(BIG)) * 2)
    out = printed(explanation)
    for line in str(explanation).splitlines():
        assert line.strip() in out
    tree = explain(xp.exp(xp.asarray(BIG)) * 2, format="tree")
    assert out == printed(tree)


def test_dot_names_every_operation_once() -> None:
    x = xp.asarray(BIG)
    dot = explain(xp.exp(x + x) @ x, format="dot")
    assert dot.startswith("digraph {")
    assert dot.count("subgraph cluster_") == 1
    assert dot.count("v0 -> v1") == 2  # x + x reads x twice
    assert dot.count("[label=") == 4
    assert dot.count("{") == dot.count("}")


@pytest.mark.parametrize("name", ["evaluated", "small", "regions", "shared", "long"])
def test_svg_is_well_formed_and_has_every_operation(name: str) -> None:
    x = xp.asarray(BIG)
    small = xp.asarray([1.0])
    for _ in range(LIMIT - 10 if name == "long" else 10):
        small = small + 1
    held = xp.exp(x)
    arrays = {
        "evaluated": x,
        "small": small,
        "regions": (xp.exp(x) @ x + 1) * (x[0] - 2),
        "shared": [held * 2, held @ held, xp.sqrt(held + small)],
        "long": small,
    }[name]
    explanation = explain(arrays)
    svg = explain(arrays, format="svg")
    assert svg == explanation._repr_svg_()
    root = ET.fromstring(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    wanted = [] if name == "long" else [explanation.formula(k) for s in explanation.steps for k in s.eqns]
    assert titles == wanted
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        if rect.get("x"):
            x0, y0, w, h = (float(rect.get(k, 0)) for k in ("x", "y", "width", "height"))
            assert x0 >= 0
            assert y0 >= 0
            assert x0 + w <= width
            assert y0 + h <= height


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="explain: no format 'png'; text, tree, dot, svg would work"):
        explain(xp.asarray(1.0), format="png")
    with pytest.raises(TypeError, match="explain: no array in int, list; an Array would work"):
        explain(1, [2])


def test_several_results_of_one_operation_count_together() -> None:
    step = Step("call", "host", (1,), (0,), (1,), 8, 16, 0)
    assert step.title() == "call: host, whole"
    assert step.traffic() == "reads 8 B, writes 16 B"


# -- layout ----------------------------------------------------------------------------------------


def test_layout_has_no_overlaps_and_no_line_through_a_box() -> None:
    rng = np.random.default_rng(0)
    boxes = [(float(w), float(h)) for w, h in rng.integers(20, 200, (30, 2))]
    edges = [Edge(int(rng.integers(0, t)), t) for t in range(1, 30) for _ in range(2)]
    layers = longest_paths([0] * 30, edges)
    layout = layered(boxes, layers, edges, 10, 20)
    sides = [(x - w / 2, x + w / 2) for x, (w, _) in zip(layout.x, boxes, strict=True)]
    for i in range(30):
        assert sides[i][0] >= -1e-6
        assert sides[i][1] <= layout.width + 1e-6
        for j in range(i):
            if layers[i] == layers[j]:
                assert sides[i][1] <= sides[j][0] + 1e-6 or sides[j][1] <= sides[i][0] + 1e-6
    for edge, route in zip(edges, layout.routes, strict=True):
        assert [y for _, y in route] == sorted(y for _, y in route)
        for k in range(30):
            if k not in (edge.source, edge.target):
                top, bottom = layout.y[k], layout.y[k] + boxes[k][1]
                for x, y in route:
                    assert not (sides[k][0] < x < sides[k][1] and top < y < bottom)


def test_bytes_have_three_digits() -> None:
    given = [0, 999, 1000, 2_000_000, 999_600, 12_345_678_901, 3 * 10**15]
    assert [bytes_text(n) for n in given] == ["0 B", "999 B", "1 kB", "2 MB", "1 MB", "12.3 GB", "3e+03 TB"]


# -- report ----------------------------------------------------------------------------------------


@pytest.fixture
def fresh() -> object:
    before = vars(stats).copy()
    vars(stats).update(vars(Stats()))
    yield
    vars(stats).update(before)


@pytest.mark.usefixtures("fresh", "recorded")
def test_report_counts() -> None:
    assert report()[:5] == (0, 0, 0, 0.0, {})
    eval(xp.asarray(BIG) * 2 + 1)
    float(xp.sum(xp.asarray([1.0, 2.0]) + 1))
    stats.fallbacks.update(["interp", "interp", "busday_count"])
    found = report()
    assert (found.evaluations, found.fusion_groups) == (2, 1)
    assert found.seconds > 0
    told = found.as_dict()
    assert told["fallbacks"] == {"interp": 2, "busday_count": 1}
    assert [told[k] for k in ("evaluations", "fusion_groups", "compiled", "seconds")] == [
        2,
        1,
        0,
        found.seconds,
    ]
    assert "fallbacks     interp (2), busday_count (1)" in str(found).splitlines()
    assert "interp (2), busday_count (1)" in printed(found)
    assert report(reset=True)[:5] == found[:5]
    assert report().evaluations == 0
    assert found.evaluations == 2


@pytest.mark.usefixtures("fresh")
def test_evaluating_nothing_counts_nothing() -> None:
    evaluate([])
    eval(xp.asarray(1.0))
    assert "none" in repr(report())
    assert report().evaluations == 0


def test_drawings_of_a_mesh_have_what_moves_between_its_devices() -> None:
    mesh = DeviceMesh((4,), ("x",))
    a = shard(np.arange(80.0).reshape(20, 4), mesh, P("x"))
    y = xp.sum(xp.exp(a) * 2.0, axis=0) + 1.0
    root = ET.fromstring(explain(y, format="svg"))
    texts = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("all_reduce" in t for t in texts)
    assert any("exp(%" in t for t in texts)
    dot = explain(y, format="dot")
    assert "all_reduce" in dot
    assert dot.count("{") == dot.count("}")
