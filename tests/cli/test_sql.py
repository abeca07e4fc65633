"""`deltic sql`, and `deltic run` and `explain` of a program in SQL.

Catches a statement that is not run or run twice, an answer that cannot be read, a wrong status, and a shell that a
mistake ends.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import deltic
from deltic.cli.shell import completed, run_shell
from deltic.pipeline.session import Pipeline
from tests.cli.conftest import command

PROGRAM = """
-- what was sold where
CREATE TABLE sale (id INT PRIMARY KEY, shop STRING, price DECIMAL(8, 2), day DATE);
CREATE VIEW takings AS SELECT shop, count(*) AS n, sum(price) AS total FROM sale GROUP BY shop;
CREATE VIEW late AS SELECT id, day FROM sale WHERE day >= DATE'2024-02-01';
"""


def typed(text):
    """`deltic sql` with a text on standard input."""
    from deltic.cli.main import app

    return CliRunner().invoke(app, ["sql"], input=text)


def words(text):
    return [line.split() for line in text.splitlines() if line.strip() and "─" not in line]


def test_a_pipe():
    result = typed(
        "CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'x'), (2, NULL); SELECT * FROM t ORDER BY a"
    )
    assert result.exit_code == 0
    assert words(result.stdout) == [
        ["added", "t"],
        ["2", "rows", "changed"],
        ["a", "b"],
        ["1", "x"],
        ["2", "NULL"],
        ["2", "rows"],
    ]


def test_a_mistake_is_told_without_a_traceback():
    result = typed("SELECT 1 AS a;\nSELECT b FROM nothing")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[0] == "error: <stdin>:2:15: there is no table or view nothing"


def test_text_is_shown_as_it_is():
    assert words(typed("SELECT '[bold]x[/]' AS a, true AS b").stdout)[1] == ["[bold]x[/]", "true"]


def test_files_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sql").write_text(PROGRAM)
    (tmp_path / "b.sql").write_text("INSERT INTO sale VALUES (1, 'north', 1.5, NULL); SELECT total FROM takings;")
    result = command("sql", "a.sql", "b.sql")
    assert result.status == 0
    assert words(result.out)[-2:] == [["1.50"], ["1", "row"]]
    result = command("sql", "a.sql", "-c", "SELECT count(*) AS n FROM sale WHERE id = :id", "--arg", "id=1")
    assert words(result.out)[-2:] == [["0"], ["1", "row"]]
    (tmp_path / "b.sql").write_text("\nSELECT nothing FROM sale")
    assert command("sql", "a.sql", "b.sql").err.startswith("error: b.sql:2:8: there is no column nothing")


def test_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sql").write_text("SELECT :n + 1 AS n, :name AS name, :none AS none")
    result = command("sql", "a.sql", "--arg", "n=7", "--arg", "name=o'x; --", "--arg", "none=null")
    assert words(result.out)[1] == ["8", "o'x;", "--", "NULL"]
    assert command("sql", "a.sql", "--arg", "n").err == "error: --arg n: expected NAME=VALUE, as in --arg id=7\n"
    assert command("sql", "a.sql").err.startswith("error: a.sql:1:8: :n: the parameter has no value")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "shop.sql": PROGRAM,
        "facts/sale.csv": "1,north,1.50,2024-01-01\n2,north,2.00,2024-02-02\n3,south,,\n",
        "changes/1.sale.csv": "-,1,north,1.50,2024-01-01\n+,4,,7,2024-03-01\n",
        "changes/2.sale.csv": "+,4,east,1,2024-03-01\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def lines(path):
    return sorted(path.read_text().splitlines())


def test_a_program_over_files(shop):
    result = command("run", "shop.sql", "--facts", "facts", "--changes", "changes", "--out", "out")
    assert lines(shop / "out/takings.csv") == ["\t1\t7.00", "north\t1\t2.00", "south\t1\t"]
    assert lines(shop / "out/late.csv") == ["2\t2024-02-02", "4\t2024-03-01"]
    assert lines(shop / "out/changes/1.sale.csv/late.tsv") == ["+\t4\t2024-03-01"]
    assert result.status == 1
    assert "several rows would have the key id = 4" in result.err


def test_a_program_has_definitions_alone(shop):
    (shop / "shop.sql").write_text(PROGRAM + "INSERT INTO sale VALUES (1, 'a', 1, NULL);")
    result = command("run", "shop.sql", "--facts", "facts")
    assert (result.status, result.out) == (1, "")
    assert "shop.sql:6:1: a program has definitions alone" in result.err


def test_explaining_a_view_of_a_program(shop):
    result = command("explain", "shop.sql", "takings")
    assert result.status == 0
    assert "aggregate" in result.out


def test_completion():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE selected (amount INT)")

    def all_of(begun):
        return [word for number in range(9) if (word := completed(pipeline, begun, number))]

    assert all_of("sel") == ["selected", "select"]
    assert all_of("AM") == ["amount"]
    assert all_of("zz") == []


def test_a_shell(tmp_path):
    """Typed on a terminal: a statement over two lines, mistakes, commands, what a change did, and the end."""
    typed_lines = [
        *("SELECT 1 + 1", "  AS two;", "SELECT nothing;", "help", "SELECT 4 AS four;", r"\dt", r"\timing", ".tabels"),
        *("CREATE TABLE t (a INT);", "CREATE VIEW v AS SELECT a + 1 AS b FROM t;", "INSERT INTO t VALUES (1);"),
        *(r"\d v", "exit"),
    ]
    shown = on_terminal([sys.executable, "-m", "deltic.cli.main", "sql"], typed_lines, tmp_path)
    assert ["two"] in words(shown)
    assert "there is no column nothing" in shown
    assert "Traceback" not in shown
    assert "Ctrl-C forgets" in shown
    assert ["four"] in words(shown)
    assert "times are shown" in shown
    assert " ms\n" in shown
    assert "  v + (2)" in shown
    assert ["b", "int", "NULL"] in words(shown)
    assert "there is no command .tabels; did you mean `.tables`?" in shown


def test_ctrl_c_ends_a_statement_and_not_the_shell(monkeypatch, capsys):
    @deltic.function(deterministic=True)
    def stop(x: int) -> int:
        raise KeyboardInterrupt

    def read(prompt):
        line = next(lines)
        if line == "^C":
            raise KeyboardInterrupt
        return line

    lines = iter(
        ["half a statement", "^C", "INSERT INTO t SELECT stop(a) FROM u;", "SELECT count(*) AS n FROM t;", "exit"]
    )
    monkeypatch.setattr("builtins.input", read)
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (a BIGINT); CREATE TABLE u (a BIGINT); INSERT INTO u VALUES (1)")
    pipeline.function(stop)
    run_shell(pipeline)
    shown = capsys.readouterr().out
    assert "interrupted; nothing of it was done" in shown
    assert words(shown)[-2:] == [["0"], ["1", "row"]]


def on_terminal(arguments, typed_lines, folder):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DELTIC_CACHE_DIR": os.environ.get("DELTIC_CACHE_DIR", ""), "TERM": "dumb"}
    environment = {name: value for name, value in environment.items() if value}
    process = subprocess.Popen(
        arguments, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True
    )
    os.close(theirs)
    for line in typed_lines:
        os.write(ours, f"{line}\n".encode())
        time.sleep(0.05)
    try:
        shown, _ = process.communicate(timeout=120)
    finally:
        os.close(ours)
        process.kill()
    assert process.returncode == 0
    return shown
