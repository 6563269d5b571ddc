"""Programs that write to what they capture, and what NumPy's loop leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from nabla_array.transforms.captured import _held

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 3))


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12)


def settle(c: Any) -> None:
    """See that an array is as it was before transforms: in no batch, no hole, and free to be written to."""
    if type(c) is np.ndarray:
        assert c.flags.writeable
    else:
        assert c._levels == ()
        assert c.flags.writeable
    assert not _held
