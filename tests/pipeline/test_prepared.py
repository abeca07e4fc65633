"""Statements that run again have the plan of the first run, with other values.

Catches a value that is left in the plan, a plan for values of another type, one that outlives the definitions that it
was made for, and a statement whose plan depends on its values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltic
from deltic.catalog import Catalog
from deltic.pipeline.sql import planning
from deltic.sql.statements.statements import Statement

TABLE = (
    "CREATE TABLE t (id BIGINT, small SMALLINT, name STRING, fixed CHAR(3), amount DECIMAL(10, 2), day DATE, x DOUBLE, "
    "clock TIMESTAMP_NTZ, at TIMESTAMP)"
)
STATEMENTS = {
    "INSERT INTO t (id, name) VALUES (?, ?)": 2,
    "INSERT INTO t (small, amount) VALUES (?, ?)": 2,
    "INSERT INTO t (id, fixed) VALUES (abs(?), ?)": 2,
    "INSERT INTO t (id) VALUES (?), (?)": 2,
    "INSERT INTO t (id, name) SELECT id, name FROM t WHERE id = ? AND name <> ?": 2,
    "UPDATE t SET name = ?, small = ? WHERE id = ?": 3,
    "UPDATE t SET id = greatest(?, 0) WHERE small < ?": 2,
    "UPDATE t SET name = ? WHERE ? > 5": 2,
    "DELETE FROM t WHERE small = ? AND name >= ?": 2,
    "DELETE FROM t WHERE fixed = ?": 1,
    "DELETE FROM t WHERE amount > ? OR day = ?": 2,
    "SELECT id, ? FROM t WHERE id <= ?": 2,
    "SELECT name FROM t WHERE id = ? AND ? = small": 2,
    "SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE name = ?) ORDER BY id LIMIT ?": 2,
    "SELECT count(*) FROM t WHERE name LIKE ? OR id BETWEEN ? AND ?": 3,
    "INSERT INTO t (x, clock, at) VALUES (?, ?, ?)": 3,
    "UPDATE t SET amount = ?, x = ? WHERE day = ?": 3,
    "SELECT name FROM t WHERE id IN (?, 5, ?) AND amount BETWEEN ? AND ?": 4,
    "SELECT id FROM t WHERE x > ? AND clock <= ?": 2,
    "SELECT id FROM t WHERE day NOT IN (?, ?)": 2,
    "DELETE FROM t WHERE name IN (?) AND at = ?": 2,
    "SELECT id, ? FROM t WHERE DATE(?) = day": 2,
    "SELECT id FROM t WHERE name NOT LIKE ? ESCAPE '!' OR fixed LIKE ?": 2,
    "SELECT id FROM t WHERE ? LIKE name": 1,
    "SELECT id FROM t ORDER BY id LIMIT ? OFFSET ?": 2,
    "SELECT id FROM (SELECT id FROM t ORDER BY small LIMIT ?) WHERE id > ?": 2,
    "MERGE INTO t USING (VALUES (?, ?)) s(id, name) ON t.id = s.id WHEN MATCHED AND small > ? THEN UPDATE SET name = "
    "s.name, small = ? WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, ?)": 5,
    "MERGE INTO t USING (VALUES (?)) s(id) ON t.id = s.id WHEN MATCHED AND fixed LIKE ? THEN DELETE WHEN NOT MATCHED "
    "BY SOURCE AND t.small = ? THEN UPDATE SET amount = ?": 4,
}
DECIMALS = tuple(map(Decimal, ("1.50", "-0.05", "12345.5")))
NUMBERS = (
    0,
    1,
    5,
    -5,
    300,
    -(2**31),
    2**31,
    2**40,
    2**63,
    1.5,
    -1.5,
    1e300,
    *map(Decimal, ("1.50", "-0.05", "12345.5")),
)
TIMES = (
    dt.date(2026, 1, 2),
    dt.datetime(2026, 1, 2),
    dt.datetime(2026, 1, 2, 3, 4, 5, 6),
    dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
)
TEXTS = ("", "a", "it's", "a  ", "7", "2026-01-02", "\\n%_")
VALUES = st.sampled_from((None, True, *NUMBERS, *TEXTS, *TIMES))
RUNS = st.lists(
    st.sampled_from(sorted(STATEMENTS)).flatmap(
        lambda text: st.tuples(st.just(text), st.lists(VALUES, min_size=STATEMENTS[text], max_size=STATEMENTS[text]))
    ),
    min_size=4,
    max_size=12,
)


def with_literals(text: str, args: Sequence[Any]) -> str:
    """The text with literals for its parameters where a value has one in digits or plain quotes."""
    parts = text.split("?")
    plain = [str(a) if type(a) in (int, Decimal) else f"'{a}'" if type(a) is str else "NULL" for a in args]
    return "".join(chain.from_iterable(zip(parts, [*plain, ""], strict=True)))


def pipeline() -> deltic.Pipeline:
    result = deltic.Pipeline(engine="local")
    result.sql(TABLE)
    times = "TIMESTAMP_NTZ '2026-01-02 00:00:00', TIMESTAMP '2026-01-02 00:00:00Z'"
    result.sql(f"INSERT INTO t VALUES (5, 5, 'a', 'a', 1.5, DATE '2026-01-02', 1.5, {times})")
    result.sql("INSERT INTO t (id, small, name, fixed, amount) VALUES (1, 1, '7', 'b', 5)")
    return result


def outcome(p: deltic.Pipeline, text: str, args: Sequence[Any] | None) -> Any:
    """What a statement gives, and the table after it; the error where it is refused."""
    try:
        result = p.sql(text, args)
    except deltic.errors.DelticError as error:
        return type(error), str(error), sorted(map(repr, p["t"]))
    return list(result) if isinstance(result, deltic.Rows) else None, sorted(map(repr, p["t"]))


@given(RUNS)
@settings(max_examples=25, deadline=None)
def test_a_kept_plan_gives_what_one_made_for_the_values_gives(runs: list[tuple[str, list[Any]]]) -> None:
    kept, made = pipeline(), pipeline()
    for run in runs:
        for text, args in (run, (with_literals(*run), None)):
            given_ = outcome(kept, text, args)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(planning, "kept_plan", lambda *_: None)
                assert given_ == outcome(made, text, args), (text, args)


def test_a_statement_is_planned_once_for_all_values_of_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    p, planned, step = pipeline(), [], planning.step_of

    def counted(statement: Statement, catalog: Catalog) -> planning.Step:
        planned.append(statement)
        return step(statement, catalog)

    monkeypatch.setattr(planning, "step_of", counted)
    for number in range(5):
        p.sql("INSERT INTO t (id, name) VALUES (:id, :name)", {"id": 10 + number, "name": f"n{number}"})
        p.execute("UPDATE t SET name = ? WHERE id = ?", [f"m{number}", 10 + number])
        assert list(p.query("SELECT name FROM t WHERE id = ?", [10 + number])) == [(f"m{number}",)]
    assert len(planned) == 3
    p.sql("INSERT INTO t (id, name) VALUES (:id, :name)", {"id": 2**40, "name": None})
    assert len(planned) == 4
    assert list(p.query("SELECT id FROM t WHERE name IS NULL")) == [(2**40,)]
    for number in range(5):
        p.sql(f"INSERT INTO t (id, name, amount) VALUES ({20 + number}, 'it is {number}', -{number + 1}.5)")
        assert list(p.query(f"SELECT amount FROM t WHERE t.id={20 + number}")) == [(Decimal(f"-{number + 1}.5"),)]
    assert len(planned) == 7


def test_a_kept_plan_ends_with_the_definitions_that_it_was_made_for() -> None:
    p = pipeline()
    p.sql("CREATE VIEW v AS SELECT id FROM t")
    assert list(p.query("SELECT * FROM v WHERE id = ?", [5])) == [(5,)]
    p.sql("CREATE OR REPLACE VIEW v AS SELECT id, name FROM t")
    assert list(p.query("SELECT * FROM v WHERE id = ?", [5])) == [(5, "a")]
    p.sql("ALTER TABLE t ADD COLUMN more STRING DEFAULT 'x'")
    p.sql("INSERT INTO t (id) VALUES (?)", [8])
    assert list(p.query("SELECT more FROM t WHERE id = ?", [8])) == [("x",)]
    p.sql("DROP VIEW v")
    with pytest.raises(deltic.errors.ProgramError, match="v"):
        p.query("SELECT * FROM v WHERE id = ?", [5])


@pytest.mark.parametrize(
    ("text", "args", "is_kept"),
    [
        ("INSERT INTO t (x, amount, day) VALUES (?, ?, ?)", [1.5, DECIMALS[0], TIMES[0]], True),
        ("INSERT INTO t (clock, at) VALUES (?, ?)", [TIMES[2], TIMES[3]], True),
        ("SELECT id FROM t WHERE name IN (?, ?)", ["a", "b"], True),
        ("SELECT id FROM t WHERE day BETWEEN ? AND ?", [TIMES[0], TIMES[0]], True),
        ("SELECT id FROM t WHERE amount >= ?", [Decimal("-1.50")], True),
        ("UPDATE t SET x = ? WHERE id = ?", [-2.5, 1], True),
        ("SELECT id FROM t WHERE name LIKE ?", ["a%"], True),
        ("SELECT id FROM t ORDER BY id LIMIT ? OFFSET ?", [1, 0], True),
        ("MERGE INTO t USING (VALUES (?)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE", [1], True),
        ("SELECT id FROM (SELECT id FROM t LIMIT ?)", [1], False),
        ("SELECT id FROM t WHERE name LIKE concat(?, '%')", ["a"], False),
        ("SELECT id FROM t WHERE abs(id) = ?", [1], False),
        ("SELECT id FROM t WHERE id = ?", [[1]], False),
    ],
)  # fmt: skip
def test_prepared_statements_say_whether_their_plan_is_kept(text: str, args: list[Any], is_kept: bool) -> None:
    p = pipeline()
    assert p.prepare(text).keeps_plan(args) is is_kept


def test_a_prepared_statement_runs_with_other_values() -> None:
    p = pipeline()
    insert, ask = p.prepare("INSERT INTO t (id, name) VALUES (?, ?)"), p.prepare("SELECT name FROM t WHERE id = :id")
    for number in range(10, 13):
        insert.execute([number, f"n{number}"])
        assert list(ask.query({"id": number})) == [(f"n{number}",)]
    p.sql("BEGIN")
    insert.execute([13, "n13"])
    p.sql("ROLLBACK")
    assert not list(ask.query({"id": 13}))
    p.sql("ALTER TABLE t DROP COLUMN small")
    insert.execute([14, "n14"])
    assert list(ask.query({"id": 14})) == [("n14",)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE VIEW v AS SELECT 1", "a prepared statement is one INSERT, UPDATE, DELETE, MERGE or SELECT"),
        ("SELECT 1; SELECT 2", "<sql>:1:11: a prepared statement is one"),
        ("", "a prepared statement is one"),
        ("SELECT 'a", "<sql>:1:8"),
    ],
)
def test_what_cannot_be_prepared(text: str, words: str) -> None:
    with pytest.raises(deltic.ProgramError) as caught:
        pipeline().prepare(text)
    assert words in str(caught.value)


def test_a_prepared_statement_without_its_values() -> None:
    statement = pipeline().prepare("SELECT id FROM t WHERE id = ?")
    with pytest.raises(deltic.ProgramError, match="the parameter has no value"):
        statement.query()


def test_few_plans_are_kept() -> None:
    p = pipeline()
    for number in range(planning._MOST + 9):
        p.query(f"SELECT {number}")
    assert len(p._definitions.plans) <= planning._MOST
