"""The runner of other people's scripts tells right ones from others, on small scripts of our own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from . import scripts
from .scripts import (
    BOTH,
    DIFFERS,
    OURS,
    RIGHT,
    SILENT,
    UNSTABLE,
    Run,
    Verdict,
    difference,
    judge,
    ratio,
    table,
)

IMPORT = "import numpy as np\n"
SCRIPTS = {
    RIGHT: "import helper\nx = helper.double(np.random.rand(3))\nprint(x.sum())",
    DIFFERS: "n = [np.__version__ == '0', type(np.ones(2)).__name__]\nprint(n, 1)",
    OURS: "print(1)\nassert type(np.ones(2)).__name__ == 'ndarray'",
    BOTH: "print(1)\nnp.ones(2) + np.ones(3)",
    UNSTABLE: "import time\nprint(time.perf_counter(), type(np.ones(2)).__name__)",
    SILENT: "print('nothing')",
}


@pytest.mark.parametrize(("kind", "text"), SCRIPTS.items())
def test_kinds(kind: str, text: str, tmp_path: Path) -> None:
    folder = tmp_path / "field" / "project"
    folder.mkdir(parents=True)
    (folder / "helper.py").write_text("import numpy as np\ndef double(x): return 2 * x", encoding="utf-8")
    (folder / "script.py").write_text(IMPORT + text, encoding="utf-8")
    verdict = judge(tmp_path, "field/project/script.py")
    assert verdict.kind == kind, verdict.why


def test_the_least_of_several_times_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seconds = iter([3.0, 5.0, 2.0, 6.0, 4.0, 4.0])
    monkeypatch.setattr(scripts, "run", lambda *args: Run(0, "1", "", next(seconds), {}))
    verdict = judge(tmp_path, "field/project/script.py", 30, 3)
    assert (verdict.kind, verdict.theirs, verdict.ours) == (RIGHT, 2.0, 4.0)


def test_what_is_left() -> None:
    left = {"x": {"0": np.arange(3.0)}, "n": 1, "z": math.nan}
    assert not difference({**left, "x": {"0": np.arange(3.0) * (1 + 1e-12)}}, left)
    assert difference({**left, "x": {"0": np.arange(3)}}, left) == "x.0: int64 (3,) instead of float64 (3,)"
    assert difference({"x": left["x"], "n": 1}, left) == "z: nothing instead of float"
    assert difference({**left, "n": 2}, left) == "n: other int64"
    assert difference({**left, "x": {"0": np.arange(3.0) + 1e-3}}, left) == "x.0: 0.001 away, of 2"


def test_the_table() -> None:
    verdicts = [
        Verdict("a/p/x.py", RIGHT, "", 1.0, 2.0),
        Verdict("b/p/x.py", BOTH),
        Verdict("b/p/y.py", RIGHT),
    ]
    assert "| b | 1 | 0 | 0 | 1 | 0 | 0 |" in table(verdicts)
    assert ratio(verdicts) == pytest.approx(2.0)
