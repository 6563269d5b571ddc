"""``%load_ext nabla_array`` in IPython."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import python

CELLS = """\
from IPython.testing.globalipapp import start_ipython

shell = start_ipython()


def cell(code):
    done = shell.run_cell(code)
    done.raise_error()
    return done.result


plain = cell("import numpy; numpy")
assert plain.__name__ == "numpy"
cell("%load_ext nabla_array")
assert cell("import numpy as np; np").__name__ == "nabla_array"
assert cell("from numpy.linalg import inv; inv") is cell("np.linalg.inv")
assert cell("import helper; helper.np") is cell("np")
assert cell("import scipy.special, fractions; type(np.arange(3) * 2).__name__") == "Array"
assert cell("def f():\\n    import numpy\\n    return numpy\\nf()") is cell("np")
cell("%timeit -n1 -r1 -q np.sum(np.ones(3))")
cell("%unload_ext nabla_array")
assert cell("import numpy as np; np") is plain
cell("%reload_ext nabla_array")
assert cell("import numpy as np; np").__name__ == "nabla_array"
"""


def test_cells(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    pytest.importorskip("scipy", reason="SciPy, a library that imports NumPy itself, is optional")
    (tmp_path / "helper.py").write_text("import numpy as np\n")
    (tmp_path / "cells.py").write_text(CELLS)
    done = python("cells.py", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    said = "imported before, so still NumPy; import it again to have nabla_array"
    assert [line for line in done.stdout.splitlines() if "before" in line] == [
        f"numpy: {said}",
        f"numpy, np: {said}",
    ]
