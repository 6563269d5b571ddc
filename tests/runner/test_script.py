"""A script under `python -m nabla_array run` behaves as under plain Python."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from nabla_array._lazy.native import compiled

from .running import python, run

IMPORTS = """\
import importlib

import numpy
import numpy as np
import numpy.linalg as la
from numpy import linalg, sin
from numpy.lib.stride_tricks import sliding_window_view

import helper
import nabla_array


def inside():
    import numpy as np

    return np


names = {}
exec("import numpy as np", names)
found = [numpy, inside(), names["np"], importlib.import_module("numpy"), __import__("numpy"), helper.np]
assert np is nabla_array
assert all(module is np for module in found)
assert la is linalg is importlib.import_module("numpy.linalg") is np.linalg
assert sin is np.sin
assert type(sliding_window_view(np.arange(4.0), 2)) is np.Array
"""

PLAIN = """\
'''What it is.'''
import sys

import numpy as np

print(sys.argv, __name__, __file__, __doc__, __spec__, sys.path[0])
print(sys.modules["__main__"].np is np, sys.stdin.read())
"""

FAILING = """\
import sys

import numpy as np


def divide(x):
    try:
        return {}[0]
    except KeyError as error:
        raise ValueError("no such thing") from error


if __name__ == "__main__":
    if sys.argv[1] == "raise":
        divide(np.ones(3))
    elif sys.argv[1] == "import":
        import broken
    elif sys.argv[1] == "interrupt":
        raise KeyboardInterrupt
    sys.exit({"none": None, "number": 3, "text": "it ends here"}[sys.argv[1]])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("import numpy as np\n")
    (tmp_path / "imports.py").write_text(IMPORTS)
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "failing.py").write_text(FAILING)
    (tmp_path / "broken.py").write_text("import numpy as np\nimport there_is_none_of_this\n")
    (tmp_path / "syntax.py").write_text("import numpy as np\nnp = = 1\n")
    return tmp_path


@pytest.mark.parametrize("command", [["imports.py"], ["-m", "imports"]])
def test_own_imports_of_numpy_are_ours(command: list[str], folder: Path) -> None:
    done = run(*command, folder=folder)
    assert (done.stderr, done.returncode) == ("", 0)


def test_imports_of_others_are_numpys(folder: Path) -> None:
    installed = folder / ".venv/lib/python3.11/site-packages/installed"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("import numpy as np\n")
    script = f"import sys, math; sys.path.append({str(installed.parent)!r}); import installed, fractions\n"
    (folder / "others.py").write_text(script + "assert installed.np.__name__ == 'numpy'\n")
    done = run("others.py", folder=folder)
    assert (done.stderr, done.returncode) == ("", 0)


def test_modules_of_the_same_project_are_own(folder: Path) -> None:
    (folder / "pyproject.toml").touch()
    (folder / "scripts").mkdir()
    (folder / "other").mkdir()
    (folder / "other" / "setup.py").touch()
    (folder / "other" / "another.py").write_text("import numpy as np\n")
    (folder / "scripts" / "script.py").write_text(
        "import sys; sys.path += ['.', 'other']; import helper, another\n"
        "print(helper.np.__name__, another.np.__name__)\n"
    )
    done = run("scripts/script.py", folder=folder)
    assert (done.stdout, done.stderr) == ("nabla_array numpy\n", "")


def test_modules_above_in_no_project_are_own(folder: Path) -> None:
    for name in ("scripts/deep", "utils", "other"):
        (folder / name).mkdir(parents=True)
    (folder / "other" / "setup.py").touch()
    (folder / "other" / "another.py").write_text("import numpy as np\n")
    (folder / "utils" / "angle.py").write_text("import numpy as np\n")
    (folder / "scripts" / "beside.py").write_text("import numpy as np\n")
    (folder / "scripts" / "deep" / "script.py").write_text(
        "import sys; sys.path += ['.', 'other', 'scripts']; import utils.angle, another, beside\n"
        "print(utils.angle.np.__name__, another.np.__name__, beside.np.__name__)\n"
    )
    done = run("scripts/deep/script.py", folder=folder)
    assert (done.stdout, done.stderr) == ("nabla_array numpy nabla_array\n", "")


@pytest.mark.parametrize("command", [["plain.py", "--mode", "x"], ["./plain.py"]])
def test_arguments_names_and_input(command: list[str], folder: Path) -> None:
    ours, plain = run(*command, folder=folder, stdin="given"), python(*command, folder=folder, stdin="given")
    assert ours.stdout == plain.stdout
    assert (ours.stderr, ours.returncode) == ("", 0)


@pytest.mark.parametrize(
    "command",
    [
        ["failing.py", "none"],
        ["failing.py", "number"],
        ["failing.py", "text"],
        ["failing.py", "raise"],
        ["failing.py", "import"],
        ["failing.py", "interrupt"],
        ["failing.py"],
        ["syntax.py"],
    ],
)
def test_it_ends_as_under_python(command: list[str], folder: Path) -> None:
    ours, plain = run(*command, folder=folder), python(*command, folder=folder)
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode
    if command[-1] == "interrupt":
        assert ours.returncode == -signal.SIGINT


def test_a_module_fails_as_under_python(folder: Path) -> None:
    done = run("-m", "failing", "raise", folder=folder)
    assert done.returncode == 1
    assert "nabla_array" not in done.stderr
    assert done.stderr.endswith("ValueError: no such thing\n")


def test_the_mode_is_set(folder: Path) -> None:
    (folder / "mode.py").write_text(
        "import numpy as np, os; print(np.config.mode, os.environ['NABLA_ARRAY_MODE'])"
    )
    assert run("--mode", "max", "mode.py", folder=folder).stdout == "max max\n"
    assert run("mode.py", folder=folder).stdout == "host host\n"


@pytest.mark.parametrize("command", [["--mode", "host"], ["-m"], ["none.py"]])
def test_nothing_to_run_is_said(command: list[str], folder: Path) -> None:
    done = run(*command, folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("run: ")


SCALARS = """\
import numbers

import numpy as np

x = np.linspace(0, 1, 5)
i = np.argmax(x)
assert isinstance(x[1], float)
assert isinstance(x.sum(), np.floating)
assert isinstance(i, (int, np.integer))
assert not isinstance(i, int)
assert isinstance(x.any(), np.bool_)
assert isinstance(i, numbers.Integral)
assert not isinstance(x, float)
assert isinstance(x, np.ndarray)
assert not isinstance(x[1], np.ndarray)
assert x[1].__class__ is np.float64
match x[2]:
    case float():
        pass
    case _:
        raise AssertionError
print([k for k in (x[0], i) if isinstance(k, float)])
"""


def test_its_arrays_without_axes_are_scalars_to_it(tmp_path: Path) -> None:
    (tmp_path / "scalars.py").write_text(SCALARS)
    ours, plain = run("scalars.py", folder=tmp_path), python("scalars.py", folder=tmp_path)
    assert (ours.stdout, ours.stderr) == (plain.stdout, "")


SAMPLES = """\
import sys

import numpy as np

sys.path.append("site-packages")
import installed, own

for rng in np.random.default_rng(0), np.random.RandomState(0):
    drawn = installed.draw(rng), own.draw(rng), rng.normal(size=3)
    print([type(x).__module__.partition(".")[0] for x in drawn])
    names = {"__name__": "generated"}
    exec("def draw(rng): return rng.normal(size=3)", names)
    print(type(names["draw"](rng)).__module__.partition(".")[0])
print(isinstance(own.draw(rng), np.ndarray), installed.is_array(own.draw(rng)), own.is_array(own.draw(rng)))
"""


def test_generators_give_numpys_arrays_to_installed_code(tmp_path: Path) -> None:
    code = "import numpy as np\n"
    code += "draw, is_array = lambda rng: rng.normal(size=3), lambda x: isinstance(x, np.ndarray)\n"
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "installed.py").write_text(code)
    (tmp_path / "own.py").write_text(code)
    (tmp_path / "samples.py").write_text(SAMPLES)
    done = run("samples.py", folder=tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        *["['numpy', 'nabla_array', 'nabla_array']", "nabla_array"] * 2,
        "True False True",
    ]


MEMORY = """
import numpy as np
import installed

def address(x):
    return x.__array_interface__["data"][0]

x = np.linspace(0.0, 1.0, 6)
y = x.copy()
print(address(x) == address(x[:]), address(x[2:]) - address(x), address(y) == address(x))
y[0] = 5.0
print(y.__array_interface__["shape"], hasattr(np.arange(3), "__array_interface__"), installed.asks(x))
"""


def test_the_programs_own_code_sees_addresses(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed.py").write_text("asks = lambda x: hasattr(x, '__array_interface__')")
    (tmp_path / "memory.py").write_text('import sys\nsys.path.append("site-packages")\n' + MEMORY)
    done = run("memory.py", folder=tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True 16 False", "(6,) True False"]


ASKING = """
import helper, installed
import numpy as np

x, s = np.arange(3.0), np.arange(3.0)[1]
for module in (installed, helper, installed, helper):
    print(module.shows(x), module.shows(s), isinstance(s, float), module.is_float(s), module.listed([s, s]))
"""
ASKED = """
import numpy
def shows(x):
    try:
        return memoryview(x).nbytes
    except (BufferError, TypeError):
        return None
is_float = lambda x: isinstance(x, float)
listed = lambda xs: numpy.array(xs).tolist()
"""


def test_only_the_programs_own_modules_see_memory(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed.py").write_text(ASKED)
    (tmp_path / "helper.py").write_text(ASKED)
    (tmp_path / "asking.py").write_text('import sys\nsys.path.append("site-packages")\n' + ASKING)
    done = run("asking.py", folder=tmp_path)
    assert done.stderr == ""
    shown = "None None" if compiled is None and sys.version_info < (3, 12) else "24 8"
    told = [f"None {shown.split()[1]} True True [1.0, 1.0]", f"{shown} True True [1.0, 1.0]"]
    assert done.stdout.splitlines() == told * 2
