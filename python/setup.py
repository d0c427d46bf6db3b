"""Puts the runtime, the transports and the compiler of a build into the package.

CP_MLIR_BUILD names the build's folder; ../build without it. What the preset cuda has
built beside it, ../build-cuda, is for cards.
"""

import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class BuildWithNative(build_py):
    def run(self) -> None:
        super().run()
        build = Path(os.environ.get("CP_MLIR_BUILD", HERE.parent / "build"))
        tools = [build / "bin" / name for name in ("cp-compile", "cp-run")]
        files = [*tools, *sorted(build.glob("lib/libcprt*.so"))]
        cards = build.with_name(f"{build.name}-cuda") / "lib" / "libcprt_cuda.so"
        if cards.exists():
            files.append(cards)
        missing = [file for file in files if not file.exists()]
        if missing or build / "lib" / "libcprt.so" not in files:
            raise SystemExit(
                f"cp-mlir: {build} has no {missing or 'lib/libcprt.so'}; run "
                "scripts/build.sh first, or name the build's folder by CP_MLIR_BUILD"
            )
        native = Path(self.build_lib) / "cp_mlir" / "native"
        native.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy2(file, native / file.name)


class NativeDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildWithNative}, distclass=NativeDistribution)
