"""Spark Connect: jobs, DataFrames, the data source and streams through a server that PySpark starts itself.

Catches a function of PySpark that Connect has not, or has with another meaning.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_of_spark_connect(tmp_path):
    for package in NEEDED:
        pytest.importorskip(package, reason=f"Spark Connect needs {package}: pip install 'pyspark[connect]'")
    command = [sys.executable, "-m", "tests.engine.executors.spark.connecting", str(tmp_path)]
    here = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env={**os.environ, **here}, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
