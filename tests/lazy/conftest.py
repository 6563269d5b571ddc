"""The graph is what is tested here: everything is recorded, however small."""

from collections.abc import Iterator

import pytest

from ..recorded import everything_recorded


@pytest.fixture(autouse=True, scope="package")
def _everything_is_recorded() -> Iterator[None]:
    with everything_recorded():
        yield
