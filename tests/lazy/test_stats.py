"""Counters: what is counted, and that reading them changes none."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.stats import stats


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_function_on_the_host_is_counted_under_its_name() -> None:
    before = stats.fallbacks["linalg.qr"], stats.fallbacks.total()
    xp.linalg.qr(xp.asarray([[4.0]]), mode="raw")
    assert (stats.fallbacks["linalg.qr"], stats.fallbacks.total()) == (before[0] + 1, before[1] + 1)


def test_what_stays_in_the_graph_is_not_counted() -> None:
    before = stats.fallbacks.copy()
    np.asarray(xp.sqrt(xp.asarray([4.0])))
    assert stats.fallbacks == before
