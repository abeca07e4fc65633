"""The first run says which kernels it compiles, a later one is silent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from deltic.engine.local.kernels.compiling import announce_compilation
from deltic.engine.local.kernels.settle import crossings
import numpy as np
announce_compilation()
announce_compilation()
crossings(np.array([0]), np.array([1]))
"""


def test_only_the_first_run_compiles_and_says_so(tmp_path: Path) -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    )
    greeting, kernel = first.splitlines()
    assert "once for this installation" in greeting
    assert kernel == "compiling settle.crossings"
    assert second == ""
