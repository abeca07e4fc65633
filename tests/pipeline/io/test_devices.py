"""Where Soufflé's programs read and write: columns of wider files, other number bases, arrays of JSON, SQLite,
standard input and output, compressed files, floats and structures as it prints them. Catches a value or a row that is
lost, moved to another column, or printed in another way.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from deltic.errors import DataError, ProgramError
from deltic.pipeline.io.splits import ArrowReader
from deltic.pipeline.io.target import ArrowWriter
from deltic.pipeline.job.job import JobSettings, run
from deltic.pipeline.session import Pipeline

ALL = ".decl r(i: number, u: unsigned, f: float, s: symbol)\n.decl v(i: number, u: unsigned, f: float, s: symbol)\n"
COPY = "v(i, u, f, s) :- r(i, u, f, s).\n"
ROWS = [
    (-(2**63), 0, 0.1, "plain"),
    (2**63 - 1, 2**64 - 1, 1e300, "é \u2028"),
    (0, 7, -0.0, ""),
    (5, 2**63, 1 / 3, 'quo"te, [x]'),
]


class _Silent:
    def __getattr__(self, name):
        from contextlib import nullcontext

        return lambda *_: nullcontext()


def execute(tmp_path, text, missing_is_empty=False):
    program = tmp_path / "p.dl"
    program.write_text(text, encoding="utf-8")
    settings = JobSettings(program, tmp_path, None, tmp_path / "out", missing_is_empty=missing_is_empty)
    pipeline = Pipeline()
    return run(settings, pipeline, ArrowReader(), ArrowWriter(), _Silent()), pipeline


@pytest.mark.parametrize("form", ["list", "object"])
def test_arrays_of_json_come_back(form, tmp_path):
    facts = "".join(f"r({i}, {u}, {f!r}, {json.dumps(s, ensure_ascii=False)}).\n" for i, u, f, s in ROWS)
    facts = facts.replace("1e+300", "1.0e300").replace("-0.0", "0.0 * -1.0")
    execute(tmp_path, ALL + COPY + facts + f'.output v(IO=jsonfile, filename="r.json", format={form})')
    (tmp_path / "out" / "r.json").rename(tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert all(isinstance(row, dict if form == "object" else list) for row in found)
    _, pipeline = execute(tmp_path, ALL + COPY + ".input r(IO=jsonfile)\n.printsize v")
    assert sorted(pipeline["v"]) == sorted(ROWS)


def test_databases_come_back_and_take_the_place_of_a_view(tmp_path):
    database = tmp_path / "out" / "data.db"
    database.parent.mkdir()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE VIEW v AS SELECT 1")
        connection.execute("CREATE TABLE r (a, b, c, d)")
        connection.executemany("INSERT INTO r VALUES (?, ?, ?, ?)", [(i, str(u), f, s) for i, u, f, s in ROWS])
    text = ALL + COPY + f'.input r(IO=sqlite, dbname="{database}")\n.output v(IO=sqlite, filename="data.db")'
    _, pipeline = execute(tmp_path, text)
    assert sorted(pipeline["v"]) == sorted(ROWS)
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT * FROM v").fetchall()
    assert sorted((i, int(u), f, s) for i, u, f, s in rows) == sorted(ROWS)


def test_what_is_wrong_with_a_database_is_told(tmp_path):
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE r (a)")
        connection.execute("CREATE TABLE q (a)")
        connection.execute("INSERT INTO q VALUES ('one')")
    with pytest.raises(DataError, match="r has 1 column there, and 4 here"):
        execute(tmp_path, ALL + COPY + ".input r(IO=sqlite)")
    with pytest.raises(DataError, match=r"row 1, expected a number, found 'one'"):
        execute(tmp_path, '.decl q(x: number)\n.input q(IO=sqlite, dbname="r.sqlite")')
    with pytest.raises(DataError, match="no such table: z"):
        execute(tmp_path, '.decl z(x: number)\n.input z(IO=sqlite, dbname="r.sqlite")')


@pytest.mark.parametrize("rows", [3, 200])
def test_columns_of_wider_files(rows, tmp_path):
    random.seed(rows)
    lines = [[str(random.randrange(9)) for _ in range(5)] for _ in range(rows)]
    (tmp_path / "e.facts").write_text("".join("\t".join(line) + "\n" for line in lines))
    _, pipeline = execute(tmp_path, '.decl e(x: number, y: symbol)\n.input e(columns="3:1")\n.printsize e')
    assert sorted(pipeline["e"]) == sorted({(int(line[3]), line[1]) for line in lines})
    (tmp_path / "e.facts").write_text("1\t2\n" * 100)
    with pytest.raises(DataError, match="expected at least 4 fields, since columns=3:1, found 2"):
        execute(tmp_path, '.decl e(x: number, y: symbol)\n.input e(columns="3:1")')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('.input e(columns="0")', "columns=0 does not say where the columns of `e` are"),
        ('.input e(columns="0:0")', "columns=0:0 does not say"),
        ('.output e(columns="0:1")', "the option columns is for .input alone"),
        (".input e(IO=stdout)", "IO=stdout is not for .input"),
        (".output e(IO=stdin)", "IO=stdin is not for .output"),
        (".input e(IO=stdin)\n.input e(IO=stdin)", "standard input is read by one relation alone"),
        (".input e(format=lists)", "`format` cannot be `lists`"),
    ],
)
def test_options_that_do_not_fit(options, message, tmp_path):
    with pytest.raises(ProgramError, match=message):
        execute(tmp_path, ".decl e(x: number, y: number)\n" + options)


@pytest.mark.parametrize("copies", [1, 60])
def test_numbers_of_other_bases(copies, tmp_path):
    (tmp_path / "e.facts").write_text("0x1F\t0b101\n-0x8000000000000000\t0XFFFFFFFFFFFFFFFF\n10\t+0x0a\n" * copies)
    _, pipeline = execute(tmp_path, ".decl e(x: number, y: unsigned)\n.input e\n.printsize e")
    assert sorted(pipeline["e"]) == [(-(2**63), 2**64 - 1), (10, 10), (31, 5)]
    (tmp_path / "e.facts").write_text("0x10000000000000000\t0\n")
    with pytest.raises(DataError, match="0x10000000000000000 is out of range for a number"):
        execute(tmp_path, ".decl e(x: number, y: unsigned)\n.input e")


def test_compressed_files_whatever_their_names(tmp_path):
    for name in ("e.facts", "f.facts.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"1\n2\n"))
    text = ".decl e, f(x: number)\n.input e, f\n.output e(compress=true)\n"
    text += '.output f(filename="i.dat", compress=true)\n'
    execute(tmp_path, text + '.output f(filename="g.csv.gz")\n.output f(filename="h.csv")')
    out = tmp_path / "out"
    assert gzip.decompress((out / "e.csv.gz").read_bytes()) == b"1\n2\n"
    assert gzip.decompress((out / "g.csv.gz").read_bytes()) == b"1\n2\n"
    assert gzip.decompress((out / "i.dat").read_bytes()) == b"1\n2\n"
    assert (out / "h.csv").read_text() == "1\n2\n"


def test_a_csv_that_the_program_names_has_tabs_where_its_first_line_has_one(tmp_path):
    (tmp_path / "a.csv").write_text("1\tx, y\n")
    (tmp_path / "b.csv").write_text("1,x\n")
    (tmp_path / "c.csv").write_text("x, y\n")
    declared = ".decl a, b(n: number, s: symbol)\n.decl c(s: symbol)\n"
    _, pipeline = execute(
        tmp_path, declared + "".join(f'.input {n}(filename="{n}.csv")\n.printsize {n}\n' for n in "abc")
    )
    assert [list(pipeline[name]) for name in "abc"] == [[(1, "x, y")], [(1, "x")], [("x, y",)]]


def test_missing_facts_are_an_error_or_none(tmp_path):
    text = ".decl e(x: number)\n.decl v(x: number)\n.input e\n.output v\nv(x) :- e(x).\nv(1).\n"
    with pytest.raises(DataError, match="--missing-facts empty"):
        execute(tmp_path, text)
    execute(tmp_path, text, missing_is_empty=True)
    assert (tmp_path / "out" / "v.csv").read_text() == "1\n"


def test_values_are_printed_as_souffle_does(tmp_path):
    text = """.type P = [s: symbol, f: float]
.type A = N {s: symbol, p: P} | Z {}
.decl v(f: float, p: P, a: A, u: unsigned)
v(0.1, ["f(x, y)", 0.3], $N("", nil), 18446744073709551615).
v(1.0e21, nil, $Z(), 0).
v(2.0, ["a", 1.5], $N("b", ["c", 0.1]), 1).
.output v
.output v(filename="quoted.csv", rfc4180=true)
"""
    execute(tmp_path, text)
    assert sorted((tmp_path / "out" / "v.csv").read_text().splitlines()) == [
        "0.10000000000000001\t[f(x, y), 0.29999999999999999]\t$N(, nil)\t18446744073709551615",
        "1e+21\tnil\t$Z\t0",
        "2\t[a, 1.5]\t$N(b, [c, 0.10000000000000001])\t1",
    ]
    assert (
        '2,"[""a"", 1.5]","$N(""b"", [""c"", 0.10000000000000001])",1' in (tmp_path / "out" / "quoted.csv").read_text()
    )


def test_standard_input_and_output(tmp_path):
    (tmp_path / "p.dl").write_text(
        ".decl e(x: number, y: symbol)\n.input e(IO=stdin)\n.output e(IO=stdout, headers=true)\n"
        '.output e(IO=json)\n.printsize e\n.output e(IO=stdoutprintsize)\n.output e(filename="sub/e.csv")\n'
    )
    command = [
        sys.executable,
        "-c",
        "from deltic.cli.main import main; main()",
        "run",
        str(tmp_path / "p.dl"),
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, input="1\ta\n", capture_output=True, text=True, env=os.environ, check=True)
    lines = done.stdout.splitlines()
    assert "e\t1" in lines[7:]
    assert lines[:7] == [
        "---------------",
        "e",
        "x\ty",
        "===============",
        "1\ta",
        "===============",
        '[[1, "a"]]',
    ]
    assert (tmp_path / "out" / "sub" / "e.csv").read_text() == "1\ta\n"
