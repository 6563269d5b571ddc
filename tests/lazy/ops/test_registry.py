"""Every rule of every primitive, on the rows of `registry.py`."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nabla_array
from nabla_array._lazy import ops
from nabla_array._lazy.graph.aval import Aval, aval_of
from nabla_array._lazy.graph.node import Node, leaf, record
from nabla_array._lazy.graph.primitive import Primitive, as_value
from nabla_array._lazy.ops.elementwise import cast, pow_
from nabla_array._lazy.ops.structure import project
from nabla_array._lazy.rules.levels import bind
from nabla_array._lazy.run.evaluator import evaluate, value_of
from nabla_array._lazy.schedule import tiling

from ..execution import assert_same, in_blocks
from ..registry import ROWS, WITHOUT_ROW, Row, each, random

rows = each(ROWS)


def all_primitives() -> set[Primitive]:
    found = set()
    for info in pkgutil.walk_packages(ops.__path__, ops.__name__ + "."):
        found.update(v for v in vars(importlib.import_module(info.name)).values() if isinstance(v, Primitive))
    return found


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def on_host(row: Row) -> tuple[np.ndarray, ...]:
    """The row's results by one call of the host rule, which must leave its arguments alone."""
    before = [x.copy() for x in row.inputs]
    with np.errstate(all="ignore"):
        out = as_tuple(as_value(row.prim.host(*row.inputs, **row.params)))
    for x, y in zip(row.inputs, before, strict=True):
        assert_same(x, y)
    return out


def results(node: Node) -> list[np.ndarray]:
    """The evaluated results of a node, taken apart by `project` where there are several."""
    if isinstance(node.aval, Aval):
        return [value_of(node)]
    return [value_of(record(project, (node,), {"index": i})) for i in range(len(node.aval))]


def test_every_primitive_has_a_row() -> None:
    missing = all_primitives() - {row.prim for row in ROWS} - WITHOUT_ROW
    assert not missing, f"write a row in tests/lazy/registry.py for {sorted(p.name for p in missing)}"


def test_names_are_unique() -> None:
    names = [p.name for p in all_primitives()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("prim", sorted(all_primitives(), key=str), ids=str)
def test_record_is_whole(prim: Primitive) -> None:
    assert (prim.into is not None) == (prim.kind == "elementwise")
    joins = prim.kind in ("reduce", "scan") or prim.name in ("matmul", "reduce_count")
    assert (prim.reducer is not None) == joins


def test_a_record_is_made_whole_by_its_module() -> None:
    """Another module that adds to it may not have been imported."""
    for path in Path(ops.__path__[0]).glob("*.py"):
        body = ast.parse(path.read_text()).body
        others = {a.asname or a.name for node in body if isinstance(node, ast.ImportFrom) for a in node.names}
        targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
        changed = [ast.unparse(t) for t in targets if isinstance(t, ast.Attribute) and t.attr[:2] != "__"]
        assert not [name for name in changed if name.split(".")[0] in others], path.name


@rows
def test_dims_say_along_which_axes_it_can_be_cut(row: Row) -> None:
    prim, n = row.prim, len(row.inputs)
    wholes, avals = on_host(row), [aval_of(x.shape, x.dtype) for x in row.inputs]
    if prim.dims is None:
        return
    labels = prim.dims(*avals, **row.params)
    assert [len(own) for own in labels] == [x.ndim for x in (*row.inputs, *wholes)]
    before, after = labels[:n], labels[n:]
    sizes: dict[int, set[int]] = {}
    for x, own in zip(row.inputs, before, strict=True):
        for label, size in zip(own, x.shape, strict=True):
            sizes.setdefault(label, set()).add(size)
    for label, (size, *others) in sizes.items():
        is_kept = all(label in own for own in after)
        if label < 0:
            continue
        assert not others
        if size < 2 or not (is_kept or (prim.reducer is not None and not any(label in own for own in after))):
            continue
        parts = []
        for piece in (slice(0, size // 2), slice(size // 2, size)):
            ins = [
                x[tuple(piece if k == label else slice(None) for k in own)]
                for x, own in zip(row.inputs, before, strict=True)
            ]
            length = piece.stop - piece.start
            shapes = [
                tuple(length if k == label else m for k, m in zip(own, whole.shape, strict=True))
                for own, whole in zip(after, wholes, strict=True)
            ]
            with np.errstate(all="ignore"):
                found = as_tuple(as_value(prim.host(*ins, **tiling.resized(row.params, shapes[0]))))
            assert [x.shape for x in found] == shapes
            parts.append(found)
        for whole, own, *both in zip(wholes, after, *parts, strict=True):
            if is_kept:
                assert_same(np.concatenate(both, axis=own.index(label)), whole, exact=row.exact)
            else:
                with np.errstate(all="ignore"):
                    assert_same(np.asarray(prim.reducer(*both)), whole, exact=False)  # type: ignore[misc]


@rows
def test_aval_is_what_the_host_gives(row: Row) -> None:
    aval = row.prim.aval(*[aval_of(x.shape, x.dtype) for x in row.inputs], **row.params)
    got = on_host(row)
    assert [(a.shape, a.dtype) for a in as_tuple(aval)] == [(x.shape, x.dtype) for x in got]


@rows
def test_params_can_be_keys(row: Row) -> None:
    def check(value: Any) -> None:
        assert isinstance(value, Hashable)
        # As keys of programs, 0.0 and -0.0 would be one: a float stands in a Literal.
        assert not isinstance(value, float | complex | np.generic)
        for item in value if isinstance(value, tuple) else ():
            check(item)

    for value in row.params.values():
        check(value)


@rows
def test_wrong_operands(row: Row) -> None:
    for avals, params, error in row.wrong:
        with pytest.raises(error, match=f"^{row.prim.name}: "):
            row.prim.aval(*avals, **params)


def stacked(row: Row, n: int) -> list[np.ndarray]:
    """Each input `n` times along a new first axis, every time with its elements in another order."""
    if row.prim.name in ("cholesky", "eigh", "eigvalsh", "searchsorted"):  # the order matters to them
        return [np.stack([x * (k + 1) for k in range(n)]).astype(x.dtype) for x in row.inputs]
    return [np.stack([np.roll(x, k) for k in range(n)]) for x in row.inputs]


@rows
def test_batch_is_a_loop(row: Row) -> None:
    inputs = stacked(row, 3)
    if not inputs:  # nothing to batch: its params alone say what it is
        return
    node, levels = bind(row.prim, [(leaf(x), (1,)) for x in inputs], row.params)
    assert levels == (1,)
    got = results(node)
    for k in range(3):
        with np.errstate(all="ignore"):
            wanted = as_tuple(as_value(row.prim.host(*[x[k] for x in inputs], **row.params)))
        for one, other in zip(got, wanted, strict=True):
            assert_same(one[k], other, row.exact)


@rows
def test_batch_of_some_operands_by_two_levels(row: Row) -> None:
    """Level 2 batches the first operand only, level 1 the others, or the first too if it is alone."""
    inputs = stacked(row, 2)
    if not inputs:
        return
    operands = [(leaf(x), (1,)) for x in inputs]
    if len(inputs) == 1:
        operands = [(leaf(np.stack([inputs[0], inputs[0][::-1]])), (2, 1))]
    else:
        operands[0] = (operands[0][0], (2,))
    node, levels = bind(row.prim, operands, row.params)
    assert levels == (2, 1)
    got = results(node)
    for i, j in np.ndindex(2, 2):
        first = inputs[0][(j if i == 0 else 1 - j) if len(inputs) == 1 else i]
        with np.errstate(all="ignore"):
            wanted = as_value(row.prim.host(first, *[x[j] for x in inputs[1:]], **row.params))
        for one, other in zip(got, as_tuple(wanted), strict=True):
            assert_same(one[i, j], other, row.exact)


BLOCKED = [row for row in ROWS if row.prim.kind in ("elementwise", "reduce")]


@pytest.mark.parametrize("threads", [1, 2])
@each(BLOCKED)
def test_in_blocks(row: Row, threads: int) -> None:
    """In a fusion group whose values before and after live in buffers, the bits are those of a whole call."""
    (wanted,) = on_host(row)
    copies = [record(cast, (leaf(x),), {"dtype": x.dtype}) for x in row.inputs]
    node = record(row.prim, tuple(copies), row.params)
    after = record(cast, (node,), {"dtype": node.aval.dtype})
    del copies
    exact = row.exact or row.params.get("axes") == ()
    with in_blocks(4, threads):
        evaluate([after])
        assert_same(after.value, wanted, exact)
        assert node.value is not None
        assert_same(node.value, wanted, exact)  # it is an output too, since this test holds it


@each([r for r in BLOCKED if len(r.inputs) == 2 and r.inputs[0].dtype == r.inputs[1].dtype])
def test_in_blocks_over_its_own_buffer(row: Row) -> None:
    """The same dead value as both operands, which a ufunc's result may overwrite."""
    x = row.inputs[1]
    with np.errstate(all="ignore"):
        wanted = as_value(row.prim.host(x, x, **row.params))
    copied = record(cast, (leaf(x),), {"dtype": x.dtype})
    node = record(row.prim, (copied, copied), row.params)
    del copied
    with in_blocks(4):
        assert_same(value_of(node), wanted)


FRESH = [row for row in ROWS if row.prim.fresh]


@each(FRESH)
def test_a_fresh_result_is_in_memory_of_its_own(row: Row) -> None:
    with np.errstate(all="ignore"):
        outs = as_tuple(as_value(row.prim.host(*row.inputs, **row.params)))
    assert not any(np.shares_memory(out, x) for out in outs for x in row.inputs)


UNITS = [row for row in ROWS if row.prim.units and row.inputs[0].dtype.kind != "c"]


@each(UNITS)
def test_a_unit_gives_the_other_operand_bit_for_bit(row: Row) -> None:
    for place, unit in enumerate(row.prim.units):
        if unit is not None:
            other = row.inputs[1 - place]
            operands = [other, other]
            operands[place] = np.full_like(other, unit)
            with np.errstate(all="ignore"):
                assert_same(row.prim.host(*operands), other)


PUT = [row for row in ROWS if row.prim.put is not None]


@each(PUT)
def test_what_is_put_is_seen_through_the_view(row: Row) -> None:
    """And nothing else changes: to put what was there leaves the operand as it is."""

    def apply(prim: Primitive, *operands: np.ndarray, **params: Any) -> np.ndarray:
        return np.asarray(prim.host(*operands, **params))

    old, *more = row.inputs
    (seen,) = on_host(row)
    assert row.prim.put is not None
    assert_same(row.prim.put(apply, old, seen, *more, **row.params), old)
    new = np.roll(seen.copy(), 1)
    indices = row.params.get("axes") if row.prim.name == "gather" else None
    if indices is None:  # where elements are picked twice, the last one put stays
        written = row.prim.put(apply, old, new, *more, **row.params)
        assert_same(row.prim.host(written, *more, **row.params), new)


def test_views_that_keep_the_order_do() -> None:
    for row in ROWS:
        if row.prim.keeps_order:
            (out,) = on_host(row)
            assert_same(out.ravel(), row.inputs[0].ravel())


def test_elements_that_can_raise_do_and_others_do_not() -> None:
    """Integers to negative powers; of all other elementwise rows no call raises."""
    for row in ROWS:
        if row.prim.kind == "elementwise" and not row.prim.raises:
            on_host(row)
    for char in "bl":
        assert np.dtype(char).kind in pow_.raises
        with pytest.raises(ValueError, match="negative"):
            pow_.host(np.ones(2, char), -np.ones(2, char))


def test_what_picks_gives_elements_of_its_first_operand() -> None:
    for row in ROWS:
        if row.prim.picks and row.inputs:
            assert np.isin(on_host(row)[0], row.inputs[0]).all()


@pytest.mark.parametrize("prim", [p for p in sorted(all_primitives(), key=str) if p.associative], ids=str)
def test_an_associative_operation_joins_in_any_order(prim: Primitive) -> None:
    x, y, z = (random("d", 50, seed=k) for k in range(3))
    if prim.ufunc is not None and "d" not in "".join(prim.ufunc.types):
        x, y, z = (np.abs(v * 9).astype(int) + 1 for v in (x, y, z))
    np.testing.assert_allclose(prim.host(prim.host(x, y), z), prim.host(x, prim.host(y, z)), rtol=1e-12)


# Modules that ask for primitives by name, which, and why; those of a family's own records (ops/) may.
BY_NAME = {
    "_lazy/max/backend.py": ("slice_", "canonical programs write slices otherwise"),
    "_lazy/max/rows.py": ("prims reduce_sum", "the sum of squares about a mean, as it is written"),
    "_namespace/dispatch/elementwise_calls.py": (
        "_HOLDS pow_",
        "the six comparisons, which take any integer; exponents, of which loops are made",
    ),
    "_namespace/numpy/ordering.py": ("argpartition_p", "two functions, each with its own primitive"),
    "transforms/checkpoint_policies.py": (
        "checkpoint_name matmul",
        "policies say which operations they mean",
    ),
    "transforms/taylor.py": ("div matmul mul", "series of products and quotients have formulas"),
    "transforms/graphs.py": ("call_graph", "their own primitive"),
    "transforms/derived.py": ("kept_call", "its own primitive, which is written out again"),
    "_lazy/run/control.py": ("scan while_", "the loops that it runs"),
    "transforms/graph_gradients.py": ("call_graph", "the primitive of graphs"),
    "_lazy/run/devices.py": ("reshard", "its spec says on which mesh"),
    "_lazy/cpu/loops.py": ("concat matmul update_slice", "these are copies, and products in the memory"),
    "_lazy/cpu/kernels.py": ("broadcast cast expm1 imag real reshape select tanh", "its loops have names"),
    "_lazy/cpu/sequences.py": ("matmul", "products are done in the thread's memory"),
    "_lazy/max/canonical.py": ("broadcast concat reshape slice_", "their params hold sizes"),
    "_lazy/max/trials.py": ("fill", "canonical programs have names alone"),
    "_lazy/schedule/groups.py": ("reshape", "blocks go along axes that it leaves"),
    "_lazy/schedule/parts.py": ("reshape", "its result's shape is part of no key"),
    "_lazy/schedule/tiling.py": ("matmul", "products are what tiles are cut for"),
    "distributed/partition.py": ("slice_", "slices that differ by a shift are to meet"),
    "distributed/auto_sharding.py": ("RULES reshard transfer", "what has a rule of its own is not chosen"),
    "distributed/propagation.py": ("reshard", "its spec is what users say"),
    "distributed/spmd.py": ("reshard transfer", "on one device nothing moves"),
}


def names_asked_for(tree: ast.AST) -> Iterator[str]:
    """Yield what `prim`, or an attribute of that name, is compared with, but for None and other variables."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        left = node.left
        if isinstance(left, ast.Attribute) and left.attr == "name":
            left = left.value
        if not (isinstance(left, ast.Name | ast.Attribute) and ast.unparse(left).split(".")[-1] == "prim"):
            continue
        for other in node.comparators:
            for part in other.elts if isinstance(other, ast.Tuple | ast.Set) else (other,):
                if isinstance(part, ast.Name):
                    yield part.id
                elif isinstance(part, ast.Constant) and part.value is not None:
                    yield str(part.value)


def test_generic_modules_ask_for_facts_and_not_for_names() -> None:
    root = Path(nabla_array.__file__).parent
    wrong = []
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root).as_posix()
        if module.startswith("_lazy/ops/"):
            continue
        allowed = {*BY_NAME.get(module, ("",))[0].split(), "prim"}
        names = sorted({*names_asked_for(ast.parse(path.read_text()))} - allowed)
        wrong += [f"{module}: {name}" for name in names]
    assert not wrong, f"make these a fact of the records (Primitive): {wrong}"


INPLACE = [row for row in ROWS if row.prim.inplace is not None]


@each(INPLACE)
def test_in_place_is_the_same(row: Row) -> None:
    (wanted,) = on_host(row)
    first = row.inputs[0].copy()
    assert row.prim.inplace is not None
    got = row.prim.inplace(first, *row.inputs[1:], **row.params)
    assert np.shares_memory(got, first) or not got.size
    assert_same(got, wanted)
