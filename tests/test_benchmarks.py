"""Benchmarks run: a benchmark that nobody has started since an interface changed fails where figures are wanted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMALL = [
    "elastic.py --data points-to --methods 200 --seeds 1 --sizes 5 --only updates --strategies nested",
    "fix.py Dominators",
    "functions.py --iterations 5 --rows 100",
    "joins.py --rows 300",
    "latency.py --size 300 --rows 3",
    "many_views.py --sizes 4",
    "refresh.py --files 10 --rows 50",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", SMALL, ids=lambda command: command.split(".")[0])
def test_runs(command, tmp_path):
    program, *arguments = command.split()
    environment = os.environ | {"DELTIC_RESULTS": str(tmp_path), "PYTHONPATH": str(ROOT)}
    called = [sys.executable, f"benchmarks/{program}", *arguments]
    done = subprocess.run(called, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout, "neither lines nor a table of results"
