"""Tables of Delta and Iceberg by the names of Spark's catalog, read by Spark's connectors.

Catches a commit that is read twice or not at all, a table that was replaced, versions that are gone, and a name that
Spark takes for another one. The session has the connectors' jars and their PySpark, and so is of another process.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.s3 import SERVERS

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
LAKES = SERVERS / "lakes"


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """A server of a catalog for the block, with the namespace shop; its address."""
    (folder / "shop").mkdir(parents=True)
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", LAKES / "rest/*", HERE / "RestCatalog.java", folder]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip().rstrip("/")
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
@pytest.mark.spark
def test_tables_of_delta_and_iceberg(tmp_path):
    python, jars = LAKES / "venv/bin/python", sorted((LAKES / "jars").glob("*.jar"))
    if not (python.exists() and jars and (LAKES / "rest").exists()):
        pytest.skip("PySpark with Delta and Iceberg is not installed: run scripts/lakes")
    here = {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}"}
    with rest_catalog(tmp_path / "rest") as address:
        command = [python, "-m", "tests.pipeline.connectors.lakes", tmp_path, ",".join(map(str, jars)), address]
        done = subprocess.run(
            command, env={**os.environ, **here}, capture_output=True, text=True, timeout=1800, check=False
        )
    lines = (line for line in done.stderr.splitlines() if not line.startswith("\t"))
    assert done.returncode == 0, "\n".join(lines)[-4000:]
