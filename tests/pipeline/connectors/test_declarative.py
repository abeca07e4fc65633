"""The example of Spark Declarative Pipelines. Catches a body that such a pipeline refuses, or that reads all anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import deltic

pytest.importorskip("grpc", reason="the extra pyspark[pipelines]")
pytest.importorskip("yaml")
ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.spark
def test_the_example(tmp_path, monkeypatch):
    example = tmp_path / "example"
    shutil.copytree(ROOT / "examples" / "declarative", example)
    spec = example / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/deltic-example", str(tmp_path)))
    (tmp_path / "sale").mkdir()
    monkeypatch.setenv("SHOP_DATA", str(tmp_path))
    environment = {
        **os.environ,
        "SHOP_PROGRAM": str(example / "shop.sql"),
        "PYTHONPATH": str(ROOT / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    program = Path(pyspark.__file__).parents[4] / "bin" / "spark-pipelines"
    command = [str(program), "run", "--spec", str(spec), "--conf", f"spark.sql.warehouse.dir={tmp_path}/warehouse"]
    pq.write_table(pa.table({"id": [1, 2], "shop": ["a", "b"], "price": [3, 4]}), tmp_path / "sale" / "1.parquet")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert "Run is COMPLETED" in done.stdout + done.stderr, done.stderr[-3000:]
    found = pq.read_table(tmp_path / "warehouse" / "takings").to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [("a", 3, 1), ("b", 4, 1)]
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        assert pipeline.refresh().report is None
