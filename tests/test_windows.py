"""The package imports and computes where there is nothing of POSIX: no forks, no compiled module, no MAX."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import asyncio  # which knows this system as what it is, as `shutil` does
import pathlib
import pkgutil
import shutil

from tests.without import as_on_windows

as_on_windows()

import numpy as np

import nabla_array as xp
from nabla_array import transforms
from nabla_array.__main__ import main
from nabla_array.distributed import DeviceMesh, shard

# What serves MAX alone is imported when MAX is there.
MAX = {f"nabla_array._lazy.max.{name}" for name in ("artifacts", "compiler", "worker")}
SKIPPED = MAX | {"nabla_array.cache_command", "nabla_array.__main__", "nabla_array._lazy.native.build"}
for module in pkgutil.walk_packages(xp.__path__, "nabla_array."):
    if module.name not in SKIPPED and ".demo" not in module.name and not module.name.endswith("._fast"):
        __import__(module.name)

x = np.linspace(0, 1, 300_000)
a = xp.asarray(x)
assert np.allclose(np.asarray(xp.sin(a) * a + 1), np.sin(x) * x + 1)
assert float(xp.sum(a)) == float(np.sum(x))
assert np.allclose(transforms.grad(lambda v: xp.sum(v**3))(a[:5]), 3 * x[:5] ** 2)
assert np.allclose(transforms.vmap(lambda v: v @ v)(a.reshape(-1, 3)), (x.reshape(-1, 3) ** 2).sum(1))
double = transforms.compile(lambda v: v + v)
assert all(np.allclose(double(a), 2 * x) for _ in range(5))
total, _ = transforms.scan(lambda c, v: (c + v, None), xp.asarray(0.0), a[:50])
assert np.isclose(float(total), x[:50].sum())
assert np.allclose(shard(a, DeviceMesh(2, "x"), "x") + 1, x + 1)
xp.report()
pathlib.Path("script.py").write_text("import numpy as np; a = np.arange(3); print(type(a).__name__, a.sum())")
try:
    main(["cache", "info"])
except SystemExit as stop:
    print(stop)
main(["run", "script.py"])
"""


def test_all_of_it_imports_and_computes(tmp_path) -> None:
    path = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    environment = {**os.environ, "PYTHONPATH": path, "NABLA_ARRAY_MODE": "auto", "NABLA_ARRAY_COMPILED": "0"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-2:] == [
        "cache: MAX compiles on Linux and macOS, and keeps nothing here: there is no module 'fcntl'",
        "Array 3",
    ]
