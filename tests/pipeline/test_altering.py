"""ALTER of tables that hold rows, against a pipeline that is defined from nothing with the same rows.

Catches rows that are lost, doubled or in the wrong columns; views that keep what they computed of other columns; a log
or an image from which an altered table comes back as it was; an error that leaves half of an alteration behind.
"""

from __future__ import annotations

import datetime as dt
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from deltic import Durability, Pipeline
from deltic.errors import DelticError, ProgramError

ENGINES: dict[str, dict[str, Any]] = {"local": {}, "shards": {"engine": "spark", "shards": 3}}
VIEWS = (
    "CREATE VIEW counted AS SELECT k, count(*) AS n FROM t GROUP BY k;"
    "CREATE VIEW everything AS SELECT * FROM t;"
    "CREATE VIEW joined AS SELECT t.k, s.x FROM t JOIN s ON t.k = s.k;"
)
TYPES = {"INT": ["BIGINT", "DECIMAL(12,2)", "DOUBLE"], "BIGINT": ["DECIMAL(20,0)"], "STRING": []}


@dataclass
class Model:
    """The table as it should be: columns with type and nullability, and rows."""

    columns: dict[str, tuple[str, bool]] = field(default_factory=lambda: {"k": ("INT", True), "c0": ("STRING", True)})
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_keyed: bool = False
    fresh: int = 0

    def value(self, rng: random.Random, name: str) -> Any:
        if name == "id":
            self.fresh += 1
            return self.fresh
        type_, nullable = self.columns[name]
        if nullable and rng.random() < 0.2:
            return None
        return rng.choice("xyz") if type_ == "STRING" else rng.randrange(4)

    def text(self) -> str:
        columns = [f"{name} {t}{'' if nullable else ' NOT NULL'}" for name, (t, nullable) in self.columns.items()]
        return f"CREATE TABLE t ({', '.join([*columns, *['PRIMARY KEY (id)'] * self.is_keyed])});"

    def names(self) -> list[str]:
        return [name for name in self.columns if name not in ("k", "id")]

    def add(self, rng: random.Random) -> str:
        self.fresh += 1
        name, type_ = f"c{self.fresh}", rng.choice(list(TYPES))
        default = rng.choice([None, "7" if type_ != "STRING" else "'d'"])
        after = rng.choice([None, "", *self.columns])
        names = list(self.columns)
        place = len(names) if after is None else names.index(after) + 1 if after else 0
        names.insert(place, name)
        self.columns = {n: self.columns.get(n, (type_, True)) for n in names}
        value = None if default is None else default.strip("'") if type_ == "STRING" else int(default)
        self.rows = [{**row, name: value} for row in self.rows]
        message = "" if after is None else f" AFTER {after.upper()}" if after else " FIRST"
        return f"ADD COLUMN {name} {type_}{'' if default is None else f' DEFAULT {default}'}{message}"

    def drop(self, rng: random.Random) -> str:
        name = rng.choice(self.names())
        del self.columns[name]
        self.rows = [{n: v for n, v in row.items() if n != name} for row in self.rows]
        return f"DROP COLUMN {name}"

    def rename(self, rng: random.Random) -> str:
        self.fresh += 1
        old, new = rng.choice(self.names()), f"r{self.fresh}"
        self.columns = {new if n == old else n: entry for n, entry in self.columns.items()}
        self.rows = [{new if n == old else n: v for n, v in row.items()} for row in self.rows]
        return f"RENAME COLUMN {old} TO {new}"

    def widen(self, rng: random.Random) -> str:
        name = rng.choice(self.names())
        type_, nullable = self.columns[name]
        wider = rng.choice(TYPES.get(type_) or [type_])
        self.columns[name] = wider, nullable
        return f"ALTER COLUMN {name} TYPE {wider}"

    def null(self, rng: random.Random) -> str:
        name = rng.choice(self.names())
        has_null = any(row[name] is None for row in self.rows)
        type_, nullable = self.columns[name]
        if nullable and has_null:
            return ""
        self.columns[name] = type_, not nullable
        return f"ALTER COLUMN {name} {'SET' if nullable else 'DROP'} NOT NULL"

    def key(self, rng: random.Random) -> str:
        self.is_keyed = not self.is_keyed
        return "ADD PRIMARY KEY (id)" if self.is_keyed else "DROP PRIMARY KEY"


STEPS = (Model.add, Model.add, Model.drop, Model.rename, Model.widen, Model.null, Model.key)


def shown(pipeline: Pipeline) -> dict[str, Counter[Any]]:
    return {name: Counter(map(repr, pipeline[name])) for name in sorted(pipeline)}


def from_nothing(model: Model) -> dict[str, Counter[Any]]:
    pipeline = Pipeline()
    pipeline.sql(f"CREATE TABLE s (k INT, x INT);{model.text()}{VIEWS}")
    with pipeline.transaction() as change:
        change.insert("s", [(n, n * n) for n in range(4)])
        change.insert("t", [tuple(row.get(name) for name in model.columns) for row in model.rows])
    return shown(pipeline)


def run(seed: int, options: dict[str, Any], state: Path, steps: int) -> None:
    rng, model = random.Random(seed), Model()
    model.columns = {"id": ("INT", False), **model.columns}
    options = {**options, "durability": Durability(epochs=rng.choice([1, 3, 100]))}
    pipeline = Pipeline(**options, state=state)
    pipeline.sql(f"CREATE TABLE s (k INT, x INT);{model.text()}{VIEWS}")
    pipeline.sql("INSERT INTO s SELECT id, id * id FROM range(4)")
    for _ in range(steps):
        if rng.random() < 0.5:
            row = {name: model.value(rng, name) for name in model.columns}
            gone = [rng.choice(model.rows)] if model.rows and rng.random() < 0.5 else []
            with pipeline.transaction() as change:
                change.insert("t", [row])
                change.delete("t", [tuple(each[name] for name in model.columns) for each in gone])
            model.rows = [*(each for each in model.rows if each not in gone), row]
        else:
            text = rng.choice(STEPS)(model, rng) if model.names() else model.add(rng)
            if text.startswith(("ADD", "ALTER")) and "DEFAULT" not in text and rng.random() < 0.5:
                pipeline.redefine(f"CREATE TABLE s (k INT, x INT);\n{model.text()}{VIEWS}")
            elif text:
                pipeline.sql(f"ALTER TABLE t {text}")
        if rng.random() < 0.3:
            if options["durability"].epochs < 100:
                pipeline.close()
            else:  # what a crash leaves: a log, from which all is done once more
                state = Path(shutil.copytree(state, f"{state}+"))
            pipeline = Pipeline(**options, state=state)
    model.rows = [{name: row[name] for name in model.columns} for row in model.rows]
    assert shown(pipeline) == from_nothing(model)
    pipeline.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(1))
def test_altered_like_defined_from_nothing(seed: int, engine: str, tmp_path: Path) -> None:
    run(seed, ENGINES[engine], tmp_path / "state", steps=12)


ROWS = "INSERT INTO t VALUES (1, 'x', 2), (1, 'x', 2), (2, NULL, 3);"
START = "CREATE TABLE t (a INT, b STRING, c INT); CREATE VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a;" + ROWS

# What is refused, with a part of the message.
REFUSED = {
    "ALTER TABLE t DROP COLUMN A": "t.A has to stay: v reads it",
    "ALTER TABLE t RENAME COLUMN a TO z": "t.a has to stay: v reads it",
    "ALTER TABLE t RENAME TO z": "t cannot be renamed: v reads it",
    "ALTER TABLE t DROP COLUMN d": "no column d",
    "ALTER TABLE t ADD COLUMN B INT": "has a column B already",
    "ALTER TABLE t ADD COLUMN d INT NOT NULL": "t.d cannot be NOT NULL: 3 rows",
    "ALTER TABLE t ADD COLUMN d INT DEFAULT c": "a DEFAULT must be a constant",
    "ALTER TABLE t ADD COLUMN d VARCHAR(2) DEFAULT 'xyz'": "d: ",
    "ALTER TABLE t ALTER COLUMN b SET NOT NULL": "t.b cannot be NOT NULL: 1 row would be NULL",
    "ALTER TABLE t ALTER COLUMN a TYPE SMALLINT": "do not all fit",
    "ALTER TABLE t ALTER COLUMN a TYPE FLOAT": "do not all fit",
    "ALTER TABLE t ALTER COLUMN a SET DEFAULT 'x'": "its DEFAULT is STRING",
    "ALTER TABLE t ADD PRIMARY KEY (a)": "several rows would have one key",
    "ALTER TABLE t DROP PRIMARY KEY": "has no primary key",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)": "expected PRIMARY KEY",
    "ALTER TABLE v ADD COLUMN d INT": "v is a view",
    "ALTER VIEW v RENAME TO t": "t is already a table",
    "ALTER VIEW t RENAME TO z": "t is a table",
    "ALTER TABLE z ADD COLUMN d INT": "there is no table z",
    "ALTER TABLE t ADD COLUMN d INT; ALTER TABLE t DROP COLUMN d; ALTER TABLE t DROP COLUMN a": "t.a has to stay",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_changes_nothing(text: str) -> None:
    pipeline = Pipeline()
    pipeline.sql(START)
    before, epoch = (str(pipeline.catalog), shown(pipeline)), pipeline.epoch
    with pytest.raises(DelticError) as error:
        pipeline.sql(text)
    assert REFUSED[text] in str(error.value)
    assert ((str(pipeline.catalog), shown(pipeline)), pipeline.epoch) == (before, epoch)


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("DROP COLUMN A", "A"),
        ("DROP COLUMNS (c, d)", "d"),
        ("RENAME COLUMN c TO B", "B"),
        ("ADD COLUMN d INT AFTER e", "e"),
        ("ALTER COLUMN c TYPE SMALLINT", "c"),
        ("DROP PRIMARY KEY", "t"),
    ],
)
def test_what_is_refused_is_shown_in_its_place(what: str, shown: str) -> None:
    """The column that stands against it; the table where none does."""
    pipeline = Pipeline()
    pipeline.sql(START)
    with pytest.raises(ProgramError) as error:
        pipeline.sql(f"ALTER TABLE t {what}")
    (found,) = error.value.diagnostics
    assert found.source[found.column - 1 :][: found.length] == shown


def test_the_forms_of_sql() -> None:
    pipeline = Pipeline()
    pipeline.sql(START)
    for text in (
        "ADD COLUMNS (d INT COMMENT 'd', e VARCHAR(3) DEFAULT 'e')",
        "ADD COLUMN IF NOT EXISTS d BIGINT",
        "ADD location STRING",
        "DROP location",
        "DROP COLUMN IF EXISTS z",
        "DROP COLUMNS (c)",
        "ALTER COLUMN e FIRST",
        "ALTER COLUMN e COMMENT 'text'",
        "ALTER COLUMN d SET DEFAULT 1 + 1",
        "ALTER e TYPE STRING",
        "SET TBLPROPERTIES ('k' = 'v')",
        "UNSET TBLPROPERTIES IF EXISTS ('k')",
    ):
        pipeline.sql(f"ALTER TABLE t {text}")
    pipeline.sql("ALTER TABLE IF EXISTS z DROP COLUMN c; COMMENT ON TABLE t IS 'text'; ALTER VIEW v RENAME TO w")
    pipeline.sql("ALTER VIEW w AS SELECT d FROM t; INSERT INTO t (a) VALUES (9)")
    assert str(pipeline.sql("SHOW CREATE TABLE t")) == (
        "CREATE TABLE t (e STRING DEFAULT 'e', a INT, b STRING, d INT DEFAULT 1 + 1)"
    )
    assert str(pipeline.sql("SHOW CREATE TABLE w")) == "CREATE VIEW w AS SELECT d FROM t"
    assert Counter(pipeline["t"]) == {("e", 1, "x", None): 2, ("e", 2, None, None): 1, ("e", 9, None, 2): 1}
    assert Counter(pipeline["w"]) == {(None,): 3, (2,): 1}


def test_python_alters() -> None:
    pipeline = Pipeline()
    pipeline.table("s", {"a": "int32", "b": "string", "c": "int64?"})
    with pipeline.transaction() as change:
        change.insert("s", [(1, "x", 2), (1, "y", None)])
    with pytest.raises(DelticError, match="several rows would be one"):
        pipeline.alter("s", drop=["b", "c"])
    pipeline.alter("s", drop="c", rename={"b": "text"}, types={"a": "int64"}, add={"n": "int64"}, defaults={"n": 7})
    pipeline.alter("s", key=["a", "text"], to="t")
    assert Counter(pipeline["t"]) == {(1, "x", 7): 1, (1, "y", 7): 1}
    assert pipeline.catalog.tables["t"].key == ("a", "text")


@pytest.mark.parametrize("is_used", [False, True])
def test_a_program_goes_on_with_its_alterations(is_used: bool, tmp_path: Path) -> None:
    first = "CREATE TABLE t (a INT, b INT);\nCREATE VIEW v AS SELECT a FROM t;\n"
    with Pipeline(state=tmp_path, program=first) as pipeline:
        if is_used:
            pipeline.sql("INSERT INTO t VALUES (1, 2)")
    second = first + "ALTER TABLE t ADD COLUMN c INT DEFAULT 3;\nALTER TABLE t DROP COLUMN b;\n"
    for _ in range(2):
        with Pipeline(state=tmp_path, program=second) as pipeline:
            assert list(pipeline["t"]) == [(1, 3)] * is_used
            assert pipeline.tables["t"].names == ("a", "c")


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a INT, b INT, c STRING, d INT NOT NULL DEFAULT 3", [(1, 2, None, 3)]),
        ("c DATE DEFAULT DATE '2026-03-01', b INT, a BIGINT NOT NULL", [(dt.date(2026, 3, 1), 2, 1)]),
        ("a INT PRIMARY KEY, b DECIMAL(12, 2)", [(1, Decimal(2))]),
    ],
)
def test_a_program_with_another_declaration_keeps_the_rows(columns: str, rows: list[Any], tmp_path: Path) -> None:
    program = "CREATE TABLE t ({});\nCREATE VIEW v AS SELECT a FROM t;\n"
    with Pipeline(state=tmp_path / "state", program=program.format("a INT, b INT")) as pipeline:
        pipeline.sql("INSERT INTO t VALUES (1, 2)")
    with Pipeline(state=tmp_path / "state", program=program.format(columns)) as pipeline:
        assert (list(pipeline["t"]), list(pipeline["v"])) == (rows, [(1,)])
        with pipeline.transaction() as change:
            change.insert("t", [{"a": 5}])
        after_a_crash = Pipeline(state=shutil.copytree(tmp_path / "state", tmp_path / "copy"))
        assert shown(after_a_crash) == shown(pipeline)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("a INT", "the values of b would be lost. .* write after it: ALTER TABLE t DROP COLUMN b;$"),
        ("a INT, z INT", "DROP COLUMN b;, or ALTER TABLE t RENAME COLUMN b TO z;$"),
        ("a INT, b SMALLINT", "t.b is int32, whose values do not all fit int16; add a column of that type"),
        ("a INT, b INT, c INT NOT NULL", "t.c cannot be NOT NULL: 1 row would be NULL there; give it a DEFAULT"),
    ],
)
def test_a_program_that_would_lose_values_is_refused_with_the_statement(
    columns: str, words: str, tmp_path: Path
) -> None:
    program = "CREATE TABLE t ({});\n"
    with Pipeline(state=tmp_path, program=program.format("a INT, b INT")) as pipeline:
        pipeline.sql("INSERT INTO t VALUES (1, 2)")
        with pytest.raises(DelticError, match=words):
            pipeline.redefine(program.format(columns))
        assert list(pipeline["t"]) == [(1, 2)]


def test_a_follower_sees_it(tmp_path: Path) -> None:
    with Pipeline(state=tmp_path) as pipeline:
        pipeline.sql(START)
        follower = Pipeline(state=tmp_path, durability=Durability(readonly=True))
        pipeline.sql("ALTER TABLE t ADD COLUMN d INT DEFAULT 5; INSERT INTO t VALUES (3, 'y', 1, 1)")
        follower.follow()
        assert shown(follower) == shown(pipeline)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_many_alterations_like_defined_from_nothing(engine: str, tmp_path: Path) -> None:
    for seed in range(2, 10):
        run(seed, ENGINES[engine], tmp_path / str(seed), steps=20)
