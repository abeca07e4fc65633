"""`deltic run --state`, `sql --state`, `status`, `verify` and `compact`.

Catches a run that applies again what a state has, a repair that says nothing, and a status that is not that of the
files.
"""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from deltic.cli.main import app
from deltic.pipeline.options import Durability
from deltic.pipeline.session import Pipeline

PROGRAM = """.decl e(x: symbol, y: symbol)
.input e
.decl p(x: symbol, y: symbol)
.output p
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""


def deltic(*arguments, text=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=text)


@pytest.fixture
def job(tmp_path):
    (tmp_path / "paths.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "e.facts").write_text("a\tb\nb\tc\n")
    for number, line in ((1, "+\tc\td\n"), (2, "-\ta\tb\n")):
        (tmp_path / "changes" / str(number)).mkdir(parents=True)
        (tmp_path / "changes" / str(number) / "e.facts").write_text(f"{line}")
    return tmp_path


def run(job, *more):
    return deltic("run", job / "paths.dl", "--facts", job / "facts", "--out", job / "out", "--state", job / "s", *more)


def test_a_run_goes_on_where_the_last_one_ended(job):
    first = run(job, "--json")
    assert first.exit_code == 0, first.output
    with Pipeline(state=job / "s", durability=Durability(readonly=True)) as pipeline:
        assert len(pipeline["p"]) == 3
    following = json.loads(run(job, "--changes", job / "changes", "--json").stdout)
    assert [epoch["name"] for epoch in following["epochs"]] == ["1", "2"]
    assert following["notes"] == ["the state continues after initial; what came before is not read again"]
    again = json.loads(run(job, "--changes", job / "changes", "--json").stdout)
    assert again["epochs"] == []
    assert again["views"]["p"]["rows"] == 3
    (job / "paths.dl").write_text(PROGRAM + ".decl q(x: symbol)\n.output q\nq(x) :- e(x, _).\n")
    other = json.loads(run(job, "--changes", job / "changes", "--json").stdout)
    assert "another program than before: added q; kept e, p" in other["notes"]
    assert other["views"]["q"]["rows"] == 2


def test_statements_go_on_where_the_last_ones_ended(tmp_path):
    text = "CREATE TABLE t (a INT); INSERT INTO t VALUES (7)"
    assert deltic("sql", "--state", tmp_path / "s", text=text).exit_code == 0
    result = deltic("sql", "--state", tmp_path / "s", text="SELECT a + 1 AS b FROM t")
    assert "8" in result.stdout.split()


def test_status_counts_the_files_of_a_source(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id,x\n1,2\n")
    text = f"CREATE TABLE t USING csv OPTIONS (header 'true') LOCATION '{tmp_path / 'in'}'"
    assert deltic("sql", "--state", tmp_path / "s", text=text).exit_code == 0
    assert "position of source t: files: 1\n" in deltic("status", tmp_path / "s").stdout


def test_status_verify_and_compact(job):
    assert run(job, "--changes", job / "changes").exit_code == 0
    content = json.loads(deltic("status", job / "s", "--json").stdout)
    assert (content["epoch"], content["positions"], content["log_records"]) == (3, {"deltic run": "2"}, 0)
    assert [(kept["name"], kept["kind"], kept["rows"]) for kept in content["relations"]][:2] == [
        ("e", "table", 2),
        ("p", "view", 3),
    ]
    shown = deltic("status", job / "s").stdout
    assert "epoch 3" in shown
    assert "position of deltic run: 2\n" in shown
    whole = deltic("verify", job / "s", "--full")
    assert whole.exit_code == 0, whole.output
    assert "compared with recomputation: p" in whole.stdout
    assert "everything is intact" in whole.stdout
    (runs, *_) = (job / "s" / "runs").iterdir()
    data = bytearray(runs.read_bytes())
    data[100] ^= 1
    runs.write_bytes(data)
    damaged = deltic("verify", job / "s", "--json")
    assert damaged.exit_code == 1
    assert f"runs/{runs.name}" in json.loads(damaged.stdout)["wrong"][0]
    repaired = deltic("verify", job / "s", "--repair")
    assert repaired.exit_code == 0
    assert "repaired: a new checkpoint was made of" in repaired.stdout
    compacted = deltic("compact", job / "s")
    assert compacted.exit_code == 0, compacted.output
    assert "before," in compacted.stdout
    with Pipeline(state=job / "s", durability=Durability(readonly=True)) as pipeline:
        assert len(pipeline["p"]) == 3


@pytest.mark.parametrize("command", ["status", "verify", "compact"])
def test_what_is_no_state_is_told(tmp_path, command):
    (tmp_path / "letter.txt").write_text("dear")
    result = deltic(command, tmp_path)
    assert result.exit_code == 1
    assert "it is a directory of something else" in result.stderr
    missing = deltic(command, tmp_path / "nothing")
    assert missing.exit_code == 1
    assert "there is no state yet" in missing.stderr
    assert not (tmp_path / "nothing").exists()
