from collections.abc import Callable
from typing import Any

class Fast:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def setup(*known: Any) -> None: ...
def like(fast: Fast, slow: Callable[..., Any]) -> Callable[..., Any]: ...
def limit(part: int, large: int, tiny: int) -> None: ...
def wrap(
    way: str,
    slow: Callable[..., Any],
    name: str,
    prim: Any = None,
    host: Any = None,
    types: tuple[int, ...] = (),
    out: int = -1,
) -> Callable[..., Any]: ...
