from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Programs of these tests are compiled anew, once."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["CP_MLIR_CACHE"] = str(folder)
    # What torch compiles must not outlive the programs that it names either.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
