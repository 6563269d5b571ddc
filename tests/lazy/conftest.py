"""The graph is what is tested here: everything is recorded, however small (direct.py is tested elsewhere)."""

from collections.abc import Iterator

import pytest

from nabla_array._namespace import direct, fast


@pytest.fixture(autouse=True, scope="package")
def _everything_is_recorded() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LARGE", "PART"):
            patch.setattr(direct, name, 0)
        patch.setattr(direct, "elementwise", lambda *args: None)
        fast.limit()
        yield
    fast.limit()
