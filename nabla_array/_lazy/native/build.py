"""Hatchling's hook that compiles `module.c` where the package is built.

It takes the system's compiler, or Zig's from the package index where there is none. GCC's atomics and POSIX's
threads are what the sources need, so that Windows does without.
"""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import sys
import sysconfig
from typing import Any

import numpy as np
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

FOLDER = "nabla_array/_lazy/native"
# Zig compiles for the machine at hand otherwise, and pip keeps the wheel for others.
ZIG = f"{shlex.quote(sys.executable)} -m ziglang cc -mcpu=baseline"


def is_able() -> bool:
    """Say whether the sources could be compiled for this Python, by any compiler."""
    return os.name == "posix" and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))


def has_compiler() -> bool:
    """Say whether the system has a compiler that Python would call."""
    named = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(shlex.split(named)[0]) is not None


class CompileFast(BuildHookInterface):
    """Put the compiled module where the package looks for it; without it, operators take Python's way."""

    def dependencies(self) -> list[str]:
        """Return what is installed to build: a compiler, where there is none."""
        return ["ziglang>=0.13"] if is_able() and not has_compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for this machine's kind; warns where that fails."""
        source = os.path.join(FOLDER, "module.c")
        if not is_able():
            self.app.display_warning(
                f"{source} is not compiled (no POSIX, or no Python.h): small arrays are slower"
            )
            return
        extension = Extension(
            "nabla_array._lazy.native._fast",
            [source],
            depends=sorted(glob.glob(os.path.join(FOLDER, "*.h"))),
            include_dirs=[np.get_include()],
            extra_compile_args=["-O3"],
        )
        command = build_ext(Distribution({"name": "nabla_array", "ext_modules": [extension]}))
        command.build_lib = self.root
        command.build_temp = os.path.join(self.root, "build")
        before = os.getcwd()
        os.chdir(self.root)
        if not has_compiler():
            os.environ.update(CC=ZIG, LDSHARED=f"{ZIG} -shared")
        try:
            command.ensure_finalized()
            command.run()
        except Exception as error:  # of many classes: a compiler that fails, no headers of Python's
            self.app.display_warning(f"{source} is not compiled ({error}): small arrays are slower")
            return
        finally:
            os.chdir(before)
        # This one alone: others, of other Pythons, may lie beside it.
        build_data["artifacts"] += [os.path.relpath(path, self.root) for path in command.get_outputs()]
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
