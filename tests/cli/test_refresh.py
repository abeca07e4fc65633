"""`deltic refresh`: a file of YAML, done once.

Catches a key that is passed over, an error without its line, a dry run that changes something, and a second run that
reads again what the first has read.
"""

from __future__ import annotations

import json
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deltic import Shards
from deltic.cli.main import app

pytest.importorskip("yaml")
PROGRAM = """
CREATE TABLE sale (id BIGINT, shop STRING, price BIGINT) USING parquet LOCATION '/nowhere';
CREATE VIEW takings AS SELECT shop, sum(price) AS total FROM sale GROUP BY shop;
"""
FILE = """
program: shop.sql
state: state
sources:
  sale: {kind: parquet, path: sale}
outputs:
  takings:
    - {kind: parquet, path: out/takings, rows: 1000}
    - kind: database
      url: sqlite:///shop.db
      table: takings
      key: [shop]
options:
  strategy: nested
  threads: 1
  checkpoint: 64 MiB
"""


def refresh(*arguments):
    return CliRunner().invoke(app, ["refresh", *map(str, arguments)])


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.sql").write_text(PROGRAM)
    (tmp_path / "shop.yml").write_text(FILE)
    (tmp_path / "sale").mkdir()
    (tmp_path / "out").mkdir()
    pq.write_table(pa.table({"id": [1, 2], "shop": ["a", "b"], "price": [3, 4]}), tmp_path / "sale" / "1.parquet")
    return tmp_path


def test_runs_one_after_the_other(shop):
    told = refresh(shop / "shop.yml", "--dry-run")
    assert told.exit_code == 0, told.output
    assert "sale: would read 1 file" in told.stdout
    assert f"would publish takings to parquet {shop}/out/takings 1000" in told.stdout
    assert not (shop / "state").exists()
    first = json.loads(refresh(shop / "shop.yml", "--json").stdout)
    assert (first["ok"], first["rows_in"], first["sources"]["sale"]["files_read"]) == (True, 2, 1)
    assert pq.read_table(shop / "out" / "takings").num_rows == 2
    pq.write_table(pa.table({"id": [3], "shop": ["a"], "price": [5]}), shop / "sale" / "2.parquet")
    assert "sale: would read 1 file to read" in refresh(shop / "shop.yml", "--dry-run").stdout
    second = json.loads(refresh(shop / "shop.yml", "--json").stdout)
    assert (second["epoch"], second["sources"]["sale"]["files_read"]) == (first["epoch"] + 1, 1)
    assert {tuple(told[name] for name in ("how", "rows")) for told in second["published"].values()} == {
        ("changed files", 2),
        ("changed rows", 2),
    }
    third = json.loads(refresh(shop / "shop.yml", "--json").stdout)
    assert (third["epoch"], third["rows_in"]) == (second["epoch"], 0)
    rows = pq.read_table(shop / "out" / "takings").to_pylist()
    assert sorted(row["total"] for row in rows) == [4, 8]


def test_an_output_that_is_taken_out_is_published_no_longer(shop):
    refresh(shop / "shop.yml")
    (shop / "shop.yml").write_text(FILE.replace("    - {kind: parquet, path: out/takings, rows: 1000}\n", ""))
    content = json.loads(refresh(shop / "shop.yml", "--json").stdout)
    assert [name.split()[2] for name in content["published"]] == ["database"]


def test_a_source_that_is_taken_out_is_detached(shop):
    (shop / "shop.sql").write_text(PROGRAM.replace(" USING parquet LOCATION '/nowhere'", ""))
    refresh(shop / "shop.yml")
    (shop / "shop.yml").write_text(FILE.replace("sources:\n  sale: {kind: parquet, path: sale}\n", ""))
    pq.write_table(pa.table({"id": [3], "shop": ["a"], "price": [9]}), shop / "sale" / "2.parquet")
    told = refresh(shop / "shop.yml")
    assert told.stderr.startswith("sale: the file names no source for it any more; its rows stay")
    assert "no view changed" in told.stdout
    assert refresh(shop / "shop.yml").stderr == ""
    (shop / "shop.yml").write_text(FILE)
    assert "+1" in refresh(shop / "shop.yml").stdout


def test_a_refresh_that_fails(shop):
    (shop / "sale" / "3.parquet").write_text("nothing of the kind")
    told = refresh(shop / "shop.yml")
    assert told.exit_code == 1
    assert "3.parquet: not a Parquet file" in told.stderr
    assert json.loads(refresh(shop / "shop.yml", "--json").stdout)["error"]["kind"] == "DataError"


WRONG = {
    "unknown-key": "programm: shop.sql",
    "twice": "program: a.sql\nstate: a\nprogram: b.sql",
    "no-mapping": "- program",
    "no-kind": "program: a.sql\nsources:\n  sale: {path: x}",
    "wrong-kind": "program: a.sql\nsources:\n  sale:\n    kind: parqet\n    path: x",
    "wrong-role": "program: a.sql\noutputs:\n  sale: {kind: csv, path: x}",
    "wrong-option": "program: a.sql\noutputs:\n  sale: {kind: parquet, path: x, headers: true}",
    "missing-option": "program: a.sql\noutputs:\n  sale: {kind: database, url: 'sqlite:///x', key: a}",
    "wrong-number": "program: a.sql\noptions:\n  threads: many",
    "wrong-name": "program: a.sql\noptions:\n  thread: 1\n  memry: 1GiB",
    "no-session": "program: a\nsources:\n  a: {kind: spark, table: a}\n  b: {kind: database, url: jdbc:x, table: b}",
    "temporary": "program: a.sql\noutputs:\n  sale: {kind: spark, table: sale}",
    "settings": "program: a.sql\nspark:\n  conf: spark.jars",
    "a-list": "program: [a.sql]\nstate:",
    "syntax": "program: a.sql\nsources: {sale: [",
    "tab": "program: a.sql\n\tstate: a",
    "empty": "",
}


def test_how_shards_are_is_an_option(shop, monkeypatch):
    made = []
    monkeypatch.setattr("deltic.cli.refresh.Pipeline", lambda *_, **given: made.append(given))
    how = "shards: 4, directory: rows, executor: job, rounds: always, task_memory: 2GiB, copies: never"
    text = f"program: shop.sql\noptions: {{engine: spark, {how}}}"
    (shop / "split.yml").write_text(text)
    refresh(shop / "split.yml")
    assert made[0]["shards"] == Shards(4, str(shop / "rows"), "job", "always", "2GiB", "never")
    assert made[0]["engine"] == "spark"


def test_settings_of_spark_are_those_of_the_session(shop, monkeypatch):
    asked = []
    session = "deltic.pipeline.spark.session.spark_session"
    monkeypatch.setattr(session, lambda **given: nullcontext(asked.append(given)))
    settings = "spark: {master: 'local[2]', conf: {spark.jars: a.jar, spark.executor.cores: 1}}"
    (shop / "jars.yml").write_text(f"program: shop.sql\nsources: {{sale: {{kind: parquet, path: sale}}}}\n{settings}")
    assert refresh(shop / "jars.yml").exit_code == 0
    assert asked == [{"master": "local[2]", "conf": {"spark.jars": "a.jar", "spark.executor.cores": "1"}}]


def test_what_is_wrong_with_a_file(shop, golden):
    parts = []
    for name, text in WRONG.items():
        (shop / "wrong.yml").write_text(text)
        found = refresh(shop / "wrong.yml")
        assert found.exit_code == 2, (name, found.output)
        parts.append(f"── {name}\n{found.stderr.replace(str(shop) + '/', '')}")
    golden("cli/refresh.txt", "\n".join(parts))
