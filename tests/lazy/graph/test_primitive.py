"""Records: the rules that families share, and the facts that follow from others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.primitive import (
    Primitive,
    alike,
    elementwise,
    prefix,
    reduction,
    resolve,
    shift,
    unchanged,
    whole,
    with_role,
)
from nabla_array._lazy.ops.creation import fill
from nabla_array._lazy.ops.placement import resident

D, F, L = (np.dtype(c) for c in "dfl")


def test_batch_rules_make_new_params() -> None:
    params = {"axis": 1, "axes": (0, 2), "shape": (3, 4), "mode": "set"}
    before = dict(params)
    assert shift("axis", "axes")(params, 7) == {**params, "axis": 2, "axes": (1, 3)}
    assert prefix(shape=lambda n: n, axes=lambda n: 0)(params, 7) == {
        **params,
        "shape": (7, 3, 4),
        "axes": (0, 0, 2),
    }
    assert unchanged(params, 7) is params
    assert params == before


def test_dims_rules_label_axes() -> None:
    x = aval_of((2, 3, 4), D)
    assert alike(x, x) == ((0, 1, 2),) * 3
    assert whole("axis")(x, axis=1) == ((0, -2, 2),) * 2


def _record(**facts: Any) -> Primitive:
    return Primitive("made", lambda x: x, lambda x: x, **facts)


def test_a_record_has_no_other_fields_and_its_own_tables() -> None:
    with pytest.raises(TypeError, match=r"^made: records have no frech$"):
        _record(frech=True)
    one, other = _record(), _record()
    assert one.rules is not other.rules
    assert one.dtypes is not other.dtypes
    assert one.batch is unchanged


def test_a_result_is_fresh_where_the_record_implies_it() -> None:
    def into(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.sin(x, out=out)

    assert not _record().fresh
    assert not _record(kind="elementwise", into=into).fresh  # its host function may give its operand
    assert _record(fresh=True).fresh
    assert _record(kind="reduce").fresh
    assert _record(inplace=into).fresh
    assert elementwise("made", np.sin).fresh
    assert elementwise("made", np.sin, host=into).fresh
    assert elementwise("made", np.sin, host=into).into is into


def test_views_pick_and_elementwise_operations_go_axis_by_axis() -> None:
    assert _record(kind="view").picks
    assert _record(picks=True).picks
    assert not _record().picks
    assert _record(kind="elementwise").dims is alike
    assert _record().dims is None


def test_a_constant_has_partials_and_all_are_zero() -> None:
    constants = [_record(partials=p).is_constant for p in (None, (None, None), (None, 1), (0,))]
    assert constants == [False, True, False, False]


def test_a_role_leads_to_its_primitive() -> None:
    """Native code tells literals, and what is resident, by identity."""
    assert with_role["literal"] is fill
    assert with_role["resident"] is resident


def test_dtypes_resolve_as_numpys_and_are_kept() -> None:
    made = elementwise("made", np.logaddexp)
    assert resolve(made, (F, float)) == np.logaddexp.resolve_dtypes((F, float, None))
    assert resolve(made, (F, float)) is resolve(made, (F, float))


@pytest.mark.parametrize(
    ("ufunc", "kinds", "message"),
    [
        (np.bitwise_and, (D, D), "float64, float64; bool or integers would work"),
        (np.gcd, (L, float), "int64, float; integers would work"),
        (np.hypot, (np.dtype("D"), D), "complex128, float64; floats would work"),
        (np.negative, (np.dtype(bool),), "bool; integers or floats or complex would work"),
    ],
    ids=str,
)
def test_dtypes_without_a_loop_are_told_what_would_work(ufunc: Any, kinds: Any, message: str) -> None:
    for name in ("made", "called"):
        with pytest.raises(TypeError, match=f"^{name}: no such operation on {re.escape(message)}$"):
            resolve(elementwise("made", ufunc), kinds, None if name == "made" else name)


def test_elementwise_operations_are_strict() -> None:
    add = elementwise("made", np.add)
    x, y = aval_of((2,), D), aval_of((3,), D)
    with pytest.raises(ValueError, match=r"^made: shapes differ: float64\[2\] and float64\[3\]$"):
        add.aval(x, y)
    with pytest.raises(TypeError, match=r"without a cast$"):
        add.aval(x, aval_of((2,), F))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_reduction_gives_c_order_and_keeps_its_dtype(order: Any) -> None:
    total = reduction("made", np.add)
    x = np.asarray(np.arange(24, dtype=np.int8).reshape(2, 3, 4), order=order).transpose(2, 0, 1)
    for axes in ((), (0,), (1, 2), (0, 1, 2)):
        out = total.host(x, axes=axes)
        assert out.flags.c_contiguous
        assert out.dtype == x.dtype == total.aval(aval_of(x.shape, x.dtype), axes).dtype
        np.testing.assert_array_equal(out, x.sum(axes, dtype=np.int8))


def test_only_a_reduction_without_a_unit_refuses_an_empty_axis() -> None:
    x = aval_of((3, 0), D)
    assert reduction("made", np.add).aval(x, (1,)) is aval_of((3,), D)
    greatest = reduction("made", np.maximum)
    assert greatest.aval(x, (0,)) is aval_of((0,), D)
    with pytest.raises(ValueError, match=r"^made: no value for an empty axis: float64\[3, 0\] over axes"):
        greatest.aval(x, (1,))
