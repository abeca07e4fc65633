"""Views whose text is long or deep: they are defined, stay right through changes, and answer as Spark does.

Catches recursion over the depth of an expression, and definitions whose cost grows faster than their text: each of
these was a RecursionError, or took minutes. The expected values are Spark's, for texts of the same form.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from cProfile import Profile
from pstats import Stats
from typing import Any

import pytest

import deltic
from deltic.depth import TooDeep, deep
from deltic.errors import DelticError, ProgramError
from deltic.sql.statements.parse import parse


def _list(count: int, form: str, between: str = ", ") -> str:
    return between.join(form.format(i) for i in range(count))


def _ctes(levels: int) -> str:
    """Relations, each of which joins the one before with itself."""
    joins = (
        f"c{i} AS (SELECT x.a, y.b FROM c{i - 1} x JOIN c{i - 1} y ON x.a = y.a AND x.b = y.b)"
        for i in range(1, levels)
    )
    return f"WITH {', '.join(['c0 AS (SELECT a, b FROM t)', *joins])} SELECT * FROM c{levels - 1}"


def _correlated(levels: int, level: int = 1) -> str:
    """Scalar subqueries one in the other, each of which uses a column of the one around."""
    inner = f" + {_correlated(levels, level + 1)}" if level < levels else ""
    return f"(SELECT max(b{inner}) FROM t AS t{level} WHERE t{level}.a = t{level - 1}.a)"


# A query over t (a, b, s), and what it gives for each row; None where it leaves the row out.
Row = tuple[int, int, str]
CASES: dict[str, tuple[str, Callable[[Row], Any]]] = {
    "IN": (f"SELECT a FROM t WHERE a IN ({_list(5000, '{}')})", lambda r: r[0] if 0 <= r[0] < 5000 else None),
    "NOT IN": (f"SELECT a FROM t WHERE a NOT IN ({_list(5000, '{}')})", lambda r: None if 0 <= r[0] < 5000 else r[0]),
    "IN with NULL": (f"SELECT a IN ({_list(500, '{}')}, NULL) AS x FROM t", lambda r: True if 0 <= r[0] < 500 else ()),
    "IN of texts": (
        "SELECT s FROM t WHERE s IN (" + ", ".join(f"'x{i}'" for i in range(2000)) + ")",
        lambda r: r[2] if r[2].startswith("x") else None,
    ),
    "IN of dates": (
        "SELECT a FROM t WHERE date_add(DATE'2024-01-01', INT(a % 365)) IN (DATE'2024-01-02', DATE'2024-01-04')",
        lambda r: r[0] if r[0] in (1, 3) else None,
    ),
    "IN of decimals": (
        "SELECT a FROM t WHERE a / 2BD IN (0.5, 1.5, 2.50)",
        lambda r: r[0] if r[0] in (1, 3, 5) else None,
    ),
    "IN of itself": (
        "SELECT a FROM t WHERE 2 IN (1, 2, 3) AND a IN (1, b, 3)",
        lambda r: r[0] if r[0] in (1, 3) else None,
    ),
    "AND": (
        f"SELECT a FROM t WHERE {_list(1000, 'a <> {} + 5', ' AND ')}",
        lambda r: None if 5 <= r[0] < 1005 else r[0],
    ),
    "OR": (f"SELECT a FROM t WHERE {_list(1000, 'a = {}', ' OR ')}", lambda r: r[0] if 0 <= r[0] < 1000 else None),
    "CASE": (
        f"SELECT CASE {_list(500, 'WHEN a = {0} THEN {0} + 1', ' ')} END AS x FROM t",
        lambda r: r[0] + 1 if r[0] < 500 else (),
    ),
    "+": (f"SELECT {_list(1000, 'a', ' + ')} AS x FROM t", lambda r: 1000 * r[0]),
    "||": (f"SELECT {_list(1000, 's', ' || ')} AS x FROM t", lambda r: r[2] * 1000),
    "concat": (f"SELECT concat({_list(1000, 's')}) AS x FROM t", lambda r: r[2] * 1000),
    "parentheses": (f"SELECT {'(' * 1000}a{')' * 1000} AS x FROM t", lambda r: r[0]),
    "functions": (f"SELECT {'abs(' * 400}a - 2{')' * 400} AS x FROM t", lambda r: abs(r[0] - 2)),
    "functions of texts": (f"SELECT {'upper(' * 300}s{')' * 300} AS x FROM t", lambda r: r[2].upper()),
    "NOT": (f"SELECT a FROM t WHERE {'NOT ' * 1000} a = 1", lambda r: r[0] if r[0] == 1 else None),
    "struct": (f"SELECT size(array({'struct(' * 30}a{')' * 30})) + a AS x FROM t", lambda r: 1 + r[0]),
    "subqueries": (
        f"SELECT a FROM {'(SELECT a FROM ' * 150}t{') WHERE a > 2' * 150}",
        lambda r: r[0] if r[0] > 2 else None,
    ),
    "scalar subqueries": (f"SELECT {'(SELECT ' * 40}a{')' * 40} AS x FROM t", lambda r: r[0]),
    "correlated subqueries": (f"SELECT {_correlated(10)} AS x FROM t AS t0", lambda r: 10 * r[1]),
    "nullif": (f"SELECT {'nullif(' * 60}a + b{', 0)' * 60} AS x FROM t", lambda r: r[0] + r[1] or ()),
    "columns": (f"SELECT {_list(400, 'a + {0} AS c{0}')} FROM t", lambda r: tuple(r[0] + i for i in range(400))),
    "CTEs": (_ctes(10), lambda r: (r[0], r[1])),
}
ROWS: list[Row] = [(1, 2, "x1"), (3, 4, "y"), (5, 6, "x5"), (9_000, -9_000, "z")]


@pytest.mark.parametrize("case", CASES)
def test_large(case: str) -> None:
    query, expected = CASES[case]
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE t (a BIGINT, b BIGINT, s STRING)")
        with pipeline.transaction() as change:
            change.insert("t", ROWS[:2])
        pipeline.sql(f"CREATE VIEW v AS {query}")
        _check(pipeline, expected, ROWS[:2])
        with pipeline.transaction() as change:
            change.insert("t", ROWS[2:])
            change.delete("t", ROWS[1:2])
        _check(pipeline, expected, [ROWS[0], *ROWS[2:]])


def _check(pipeline: deltic.Pipeline, expected: Callable[[Row], Any], rows: list[Row]) -> None:
    """() stands for NULL, None for no row."""
    values = [value for row in rows if (value := expected(row)) is not None]
    wanted = [(None,) if value == () else value if isinstance(value, tuple) else (value,) for value in values]
    found = [tuple(row.values()) for row in pipeline["v"].to_arrow().to_pylist()]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def _calls(texts: Sequence[str], languages: Sequence[str]) -> Counter[tuple[str, int, str]]:
    """Return how often each function is called that defines the texts."""
    profile = Profile()
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE t (a BIGINT, b BIGINT, s STRING)")
        profile.enable()
        for text, language in zip(texts, languages, strict=True):
            pipeline.define(text, language)
        profile.disable()
    found: dict[tuple[str, int, str], tuple[int, ...]] = Stats(profile).stats  # type: ignore[attr-defined]
    return Counter({function: calls[1] for function, calls in found.items()})


def test_no_part_of_a_definition_grows_faster_than_its_text() -> None:
    """Catches what is done for each column or rule with all of them."""

    def counted(size: int) -> Counter[tuple[str, int, str]]:
        columns = f"CREATE VIEW v AS SELECT {_list(size, 'a + {0} AS c{0}')} FROM t"
        rules = _list(size, ".decl r{0}(x: number) .output r{0} r{0}(x) :- t(x, _, _), x > {0}.", "\n")
        return _calls([columns, rules], ["sql", "datalog"])

    _calls(["CREATE VIEW v AS SELECT a FROM t"], ["sql"])
    few, many = counted(40), counted(120)
    faster = {function: calls for function, calls in many.items() if calls > 5 * max(few[function], 200)}
    assert faster == {}


def test_unions() -> None:
    """A UNION ALL of many branches is one sum; each branch has the type in common with those before it."""
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE t (a BIGINT)")
        pipeline.sql(f"CREATE VIEW v AS {_list(150, 'SELECT a + {} AS a FROM t', ' UNION ALL ')}")
        pipeline.sql("CREATE VIEW w AS SELECT 1 AS a UNION ALL SELECT 2.5 UNION ALL SELECT NULL UNION ALL SELECT 3.25D")
        pipeline.sql(f"CREATE VIEW u AS {_list(110, 'SELECT a FROM t WHERE a <> {}', ' UNION ')}")
        pipeline.sql("INSERT INTO t VALUES (1), (7)")
        pipeline.sql("DELETE FROM t WHERE a = 1")
        assert sorted(pipeline["v"].to_arrow()["a"].to_pylist()) == list(range(7, 157))
        assert pipeline["u"].to_arrow()["a"].to_pylist() == [7]
        assert sorted(map(str, pipeline["w"].to_arrow()["a"].to_pylist())) == ["1.0", "2.5", "3.25", "None"]


def test_what_no_stack_holds_is_an_error_with_its_place() -> None:
    with deltic.Pipeline() as pipeline, pytest.raises(ProgramError, match="1:1: this is nested too deeply"):
        pipeline.sql(f"SELECT {'(' * 12_000}1{')' * 12_000}")


def test_a_stack_that_ends_in_the_name_of_a_type_is_continued() -> None:
    text = f"SELECT {'CAST(' * 10}a::STRING{' AS STRING)' * 10}"

    def parsed(frames: int) -> int:
        return parsed(frames - 1) if frames else len(parse(text))

    assert {parsed(frames) for frames in range(500, 700)} == {1}


def test_errors_in_deep_computations_are_as_elsewhere() -> None:
    @deep
    def count(levels: int) -> int:
        if levels < 0:
            raise ValueError("less than nothing")
        return 0 if levels == 0 else 1 + count(levels - 1)

    limit = sys.getrecursionlimit()
    assert count(20_000) == 20_000
    with pytest.raises(ValueError, match="less than nothing"):
        count(-1)
    with pytest.raises(TooDeep, match="divide it among several views") as error:
        count(300_000)
    assert isinstance(error.value, DelticError)
    assert sys.getrecursionlimit() == limit
