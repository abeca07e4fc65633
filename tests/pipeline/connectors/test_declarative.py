"""Views of Spark Declarative Pipelines. Catches what such a pipeline refuses, and rows written without need."""

from __future__ import annotations

import os
import re
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
from pyspark.pipelines.graph_element_registry import graph_element_registration_context

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that adds sales and runs the pipeline of the example; it returns the log."""
    example = tmp_path / "example"
    shutil.copytree(ROOT / "examples" / "declarative", example)
    spec = example / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/deltic-example", str(tmp_path)))
    monkeypatch.setenv("SHOP_DATA", str(tmp_path))
    environment = {
        **os.environ,
        "SHOP_PROGRAM": str(example / "shop.sql"),
        "PYTHONPATH": str(ROOT / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    program = Path(pyspark.__file__).parents[4] / "bin" / "spark-pipelines"
    settings = [f"spark.sql.warehouse.dir={tmp_path}/warehouse", "spark.sql.catalogImplementation=hive"]
    command = [str(program), "run", "--spec", str(spec), *(part for one in settings for part in ("--conf", one))]
    (tmp_path / "sale").mkdir()

    def run(file: str, sales: list[dict[str, object]]) -> str:
        pq.write_table(pa.Table.from_pylist(sales), tmp_path / "sale" / file)
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        log = done.stdout + done.stderr
        assert "Run is COMPLETED" in log, log[-3000:]
        return log

    return run


@pytest.mark.slow
@pytest.mark.spark
def test_runs_write_the_changes(tmp_path, run):
    """Spark's own view reads that of Deltic, of which the second run writes the changes alone."""
    run("1.parquet", [{"id": n, "shop": f"s{n:03}", "price": 2} for n in range(1000)])
    (rows,) = (tmp_path / "takings").glob("rows-*")
    log = run("2.parquet", [{"id": 1000 + n, "shop": "s007", "price": 5} for n in range(3)])
    assert re.search(r"Deltic: takings.* changes: 2 rows in 1 file, [\d,]+ bytes", log)
    assert rows.exists()
    assert not (tmp_path / "warehouse" / "takings").exists()
    best = pq.read_table(tmp_path / "warehouse" / "best").to_pylist()
    assert len(best) == 3
    assert {"shop": "s007", "total": 17, "sales": 4} in best
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        assert pipeline.refresh().report is None


class Registry:
    """Takes the definitions of a pipeline's views."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def register_sql(self, text: str, file: Path) -> None:
        assert file == Path(__file__)
        self.texts.append(text)


def test_definitions(tmp_path):
    registry = Registry()
    program = "CREATE TABLE t (i BIGINT); CREATE VIEW v AS SELECT i, count(*) AS `n n` FROM t GROUP BY i"

    def made() -> deltic.Pipeline:
        pipeline = deltic.Pipeline(state=tmp_path / "state", program=program)
        with pipeline.transaction() as change:
            change.insert("t", [(i,) for i in range(100 if not registry.texts else 1)])
        return pipeline

    with graph_element_registration_context(registry):
        for _ in range(2):
            deltic.materialized_view(tmp_path / "v", name="v", comment="it's")(made)
        with pytest.raises(deltic.DelticError, match=r"v: return the deltic\.Pipeline that has the view, not None"):
            deltic.materialized_view(tmp_path / "v", name="v")(lambda: None)
        with pytest.raises(deltic.DelticError, match="Spark reads a pattern in it"):
            deltic.materialized_view(tmp_path / "[v]", name="v")(made)
    first, second = registry.texts
    start = f"CREATE VIEW `v` COMMENT 'it\\'s' AS SELECT `i`, `n n` FROM parquet.`{tmp_path}/v/rows-"
    assert first.startswith(start)
    assert first.endswith("`")
    assert f"LEFT ANTI JOIN parquet.`{tmp_path}/v/changes-" in second
