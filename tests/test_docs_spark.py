"""Recipes that need a session run as printed. Catches one that has gone stale."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """The recipe's tables, in the working directory."""
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "cookbook/moving-a-spark-job.md").read_text(encoding="utf-8")
    exec(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)[0], {})


def run(page, spark, state):
    (code,) = re.findall(r"^```pyspark\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    code = code.replace('state="job-state"', f"state={str(state)!r}")
    example = doctest.DocTestParser().get_doctest(code, {"spark": spark}, page, page, 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner().run(example, out=report.append, clear_globs=False)
    assert not failed, "\n" + "".join(report)
    return example.globs


@pytest.mark.usefixtures("lake")
def test_a_nightly_job_moves(spark, tmp_path):
    """The first night, and a second one in which a zone came."""
    run("cookbook/moving-a-spark-job.md", spark, tmp_path / "state")["pipeline"].close()
    write_deltalake(
        "lake/zones", pa.table({"zone": ["Europe/Bonn"], "code": ["DE"]}), mode="append", schema_mode="merge"
    )
    night = run("cookbook/moving-a-spark-job.md", spark, tmp_path / "state")
    assert night["report"].sources["zones"].rows_read == 1
    night["pipeline"].close()
    rows = DeltaTable("lake/totals").to_pyarrow_table().to_pylist()
    totals = {row["country"]: row["total"] for row in rows}
    assert (totals["Germany"], totals["New Zealand"]) == (3, 2)
