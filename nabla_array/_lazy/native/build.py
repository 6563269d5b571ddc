"""Hatchling's hook that compiles `module.c` where the package is built, if there is a compiler."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

FOLDER = "nabla_array/_lazy/native"


class CompileFast(BuildHookInterface):
    """Put the compiled module where the package looks for it; without it, operators take Python's way."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for this machine's kind; warns where that fails."""
        source = os.path.join(FOLDER, "module.c")
        extension = Extension(
            "nabla_array._lazy.native._fast",
            [source],
            depends=sorted(glob.glob(os.path.join(FOLDER, "*.h"))),
            include_dirs=[np.get_include()],
            extra_compile_args=[] if os.name == "nt" else ["-O3"],
        )
        command = build_ext(Distribution({"name": "nabla_array", "ext_modules": [extension]}))
        command.build_lib = self.root
        command.build_temp = os.path.join(self.root, "build")
        before = os.getcwd()
        os.chdir(self.root)
        try:
            command.ensure_finalized()
            command.run()
        except Exception as error:  # of many classes: no compiler, no headers of Python's
            self.app.display_warning(f"{source} is not compiled ({error}): small arrays are slower")
            return
        finally:
            os.chdir(before)
        # This one alone: others, of other Pythons, may lie beside it.
        build_data["artifacts"] += [os.path.relpath(path, self.root) for path in command.get_outputs()]
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
