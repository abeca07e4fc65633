"""Functions of Python in views of SQL, maintained through changes and compared with the functions themselves.

Catches NULL in the wrong place, rows and columns that disagree, an error that is lost or that a condition should have
kept away, and a changed body that goes unnoticed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltic
from deltic.circuit.expressions import column, infer
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.python import fingerprint
from deltic.cli.main import app
from deltic.errors import CatalogError, DelticError, EvaluationError, ProgramError, StateError
from deltic.values.types import Type, ValueType

TABLE = "CREATE TABLE t (k INT, s STRING)"
EXACT = {"deterministic": True}


@deltic.function(deterministic=True)
def initial(text: str) -> str | None:
    return text[:1] or None


def made(engine="auto"):
    """A pipeline with the table and functions of every kind."""
    pipeline = deltic.Pipeline(engine=engine)
    pipeline.sql(TABLE)
    pipeline.function(initial)
    pipeline.function("length_of", len, arguments=["string"], returns="int64", **EXACT)
    pipeline.function("shown", lambda k, s: f"{k}:{s}", arguments=[int, str], returns=str, nulls="pass", **EXACT)
    pipeline.function("tripled", lambda k: pc.multiply(k, 3), arguments=[int], returns=int, vectorized=True, **EXACT)
    first = lambda k, s: pc.coalesce(pc.cast(k, pa.string()), s)  # noqa: E731
    pipeline.function("either", first, arguments=[int, str], returns="string?", vectorized=True, nulls="pass", **EXACT)
    return pipeline


QUERY = "SELECT k, initial(s) AS a, length_of(s) AS b, shown(k, s) AS c, tripled(k) AS d, either(k, s) AS e FROM t"


def expected(k, s):
    known = None if s is None else s
    return (
        k,
        known and known[:1],
        None if s is None else len(s),
        f"{k}:{s}",
        None if k is None else 3 * k,
        s if k is None else str(k),
    )


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_views_of_functions(engine):
    rng, rows = random.Random(1), Counter()
    pipeline = made(engine)
    pipeline.sql(f"CREATE VIEW v AS {QUERY}; CREATE VIEW g AS SELECT initial(s) AS a, count(*) AS n FROM t GROUP BY 1")
    for _ in range(6):
        come = [(rng.choice((None, 1, 2)), rng.choice((None, "", "a", "bc"))) for _ in range(rng.randint(1, 6))]
        gone = rng.sample(sorted(rows.elements(), key=repr), min(rows.total(), 2))
        with pipeline.transaction() as change:
            change.insert("t", come)
            change.delete("t", gone)
        rows = rows + Counter(come) - Counter(gone)
        wanted = [expected(k, s) for k, s in rows.elements()]
        wanted = Counter((*row[:1], row[1] or None, *row[2:]) for row in wanted)
        assert Counter(tuple(r.values()) for r in pipeline["v"].to_arrow().to_pylist()) == wanted
        groups = Counter((s and s[:1]) or None for _, s in rows.elements())
        assert dict(pipeline["g"]) == groups


def test_an_error_rejects_the_epoch_and_names_view_expression_and_row():
    pipeline = made()
    pipeline.function("inverse", lambda k: 12 // k, arguments=[int], returns=int, **EXACT)
    both = lambda k: pc.divide(12, k)  # noqa: E731
    pipeline.function("inverses", both, arguments=[int], returns=int, vectorized=True, **EXACT)
    pipeline.sql("CREATE VIEW kept AS SELECT CASE WHEN k > 0 THEN inverse(k) END AS i, k FROM t WHERE k <> 5")
    pipeline.sql("CREATE VIEW v AS SELECT inverse(k) AS i FROM t WHERE s = 'a'")
    pipeline.sql("CREATE VIEW w AS SELECT inverses(k) AS i FROM t WHERE s = 'b'")
    pipeline.sql("INSERT INTO t VALUES (0, 'c'), (3, 'a')")
    for letter, error in (("a", "v: INVERSE(k).*k = 0.*ZeroDivisionError"), ("b", "w: INVERSES(k).*k = 0.*divide by")):
        with pytest.raises(EvaluationError, match=error.replace("(", r"\(").replace(")", r"\)")):
            pipeline.sql(f"INSERT INTO t VALUES (2, '{letter}'), (0, '{letter}')")
    assert list(pipeline["v"]) == [(4,)]


@pytest.mark.parametrize(("value", "error"), [("x", "it gave 'x'"), (None, "it gave None"), (1 << 70, "does not fit")])
def test_a_value_of_another_type_is_an_error(value, error):
    pipeline = made()
    pipeline.function("wrong", lambda k: value, arguments=[int], returns="int64", **EXACT)
    pipeline.sql("CREATE VIEW v AS SELECT wrong(k) AS w FROM t")
    with pytest.raises(EvaluationError, match=error):
        pipeline.sql("INSERT INTO t VALUES (1, 'a')")


OF_EVERY_TYPE = [
    ("int32", lambda k: -k),
    ("float64", lambda k: k if k % 2 else k / 2),
    ("float64", np.float64),
    ("float64?", lambda k: None if k % 3 == 0 else math.nan if k % 3 == 1 else 2**60),
    ("float32", lambda k: k / 3),
    ("decimal(10, 2)", lambda k: Decimal(k) / 4 if k % 2 else k),
    ("boolean", lambda k: k % 2 == 0),
    ("date?", lambda k: date.min + timedelta(k) if k % 7 else None),
    ("timestamp", lambda k: datetime(1969, 12, 31, tzinfo=UTC) + timedelta(hours=k)),
    ("timestamp_ntz", lambda k: datetime.max - timedelta(k)),
    ("binary", lambda k: bytes([k % 256])),
]


@pytest.mark.parametrize(("returns", "body"), OF_EVERY_TYPE, ids=lambda each: each if isinstance(each, str) else "")
def test_values_of_many_rows_are_those_of_single_ones(returns, body):
    """The engine computes them together; the reference row by row."""
    found = []
    for engine in ("auto", "reference"):
        pipeline = made(engine)
        pipeline.function("f", body, arguments=[int], returns=returns, **EXACT)
        pipeline.sql("CREATE VIEW v AS SELECT k, f(k) AS x FROM t")
        with pipeline.transaction() as change:
            change.insert("t", [(k, "a") for k in range(300)])
        found.append(sorted(map(repr, pipeline["v"])))
    assert found[0] == found[1]
    assert len(found[0]) == 300


def test_the_row_of_many_that_fails_is_named():
    pipeline = made()
    pipeline.function("f", lambda k: "x" if k == 277 else k, arguments=[int], returns=int, **EXACT)
    pipeline.sql("CREATE VIEW v AS SELECT f(k) AS x FROM t")
    error = r"k = 277: it raised TypeError: it gave 'x', and returns int64"
    with pytest.raises(EvaluationError, match=error), pipeline.transaction() as change:
        change.insert("t", [(k, "a") for k in range(300)])
    assert not list(pipeline["v"])


def scaled(factor, offset=0):
    return lambda k: factor * k + offset


def test_a_changed_body_makes_its_views_anew():
    pipeline = made()
    pipeline.sql("INSERT INTO t VALUES (2, 'a')")
    pipeline.function("scaled", scaled(2), arguments=[int], returns=int, **EXACT)
    pipeline.sql("CREATE VIEW v AS SELECT scaled(k) AS x FROM t; CREATE VIEW w AS SELECT k FROM t")
    assert not pipeline.function("scaled", scaled(2), arguments=[int], returns=int, **EXACT).replaced
    evolution = pipeline.function("scaled", scaled(3), arguments=[int], returns=int, **EXACT)
    assert evolution.replaced == ("v",)
    assert sorted(evolution.of("v")) == [((4,), -1), ((6,), 1)] or list(pipeline["v"]) == [(6,)]
    assert list(pipeline["v"]) == [(6,)]


def test_fingerprints():
    assert fingerprint(scaled(2)) == fingerprint(scaled(2))
    several = [
        scaled(2),
        scaled(3),
        scaled(2, 1),
        lambda k: 2 * k,
        lambda k: 3 * k,
        lambda k: k in {1, 2},
        len,
        expected,
    ]
    assert len({fingerprint(body) for body in several}) == len(several)


REFUSED = {
    "nobody says that it is deterministic": ({"arguments": [], "returns": int}, "deterministic=True"),
    "an argument without a type": ({"returns": int, **EXACT}, "its argument x has no type"),
    "a result without a type": ({"arguments": [int], **EXACT}, "the type of its result is not known"),
    "no type": ({"arguments": ["long"], "returns": int, **EXACT}, "there is no type 'long'; did you mean `int64`"),
    "the name of another": (
        {"name": "upper", "arguments": [int], "returns": int, **EXACT},
        "there is a function upper",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    given, message = REFUSED[case]
    with pytest.raises(CatalogError, match=message):
        made().function(given.pop("name", "f"), lambda x: 1, **given)


def test_what_is_refused_in_a_call():
    pipeline = made()
    with pytest.raises(ProgramError, match="length_of takes 1 argument"):
        pipeline.sql("CREATE VIEW v AS SELECT length_of(s, k) AS n FROM t")
    with pytest.raises(ProgramError, match="did you mean `length_of`"):
        pipeline.sql("CREATE VIEW v AS SELECT lenght_of(s) AS n FROM t")


def test_functions_of_a_module(tmp_path, capsys):
    module = tmp_path / "own.py"
    module.write_text(
        "import deltic\n\n@deltic.function(deterministic=True)\ndef twice(x: int) -> int:\n    return 2 * x\n"
    )
    (tmp_path / "p.sql").write_text("CREATE TABLE t (x INT); CREATE VIEW v AS SELECT twice(x) AS y FROM t;")
    (tmp_path / "t.csv").write_text("4\n")
    run = ["run", str(tmp_path / "p.sql"), "--facts", str(tmp_path), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        app([*run, "--functions", str(module)])
    assert ended.value.code == 0
    assert "8" in (tmp_path / "out" / "v.csv").read_text()
    with pytest.raises(DelticError, match="there is no such module"):
        deltic.Pipeline(functions=tmp_path / "none.py")
    with pytest.raises(CatalogError, match=r"make it one by deltic\.function"):
        deltic.Pipeline(functions=[len])


def times(factor):
    types = {"arguments": ["int64"], "returns": "int64"}
    return deltic.function(lambda x: factor * x, name="f", **types, **EXACT)


def test_functions_beside_a_state(tmp_path):
    """A directory has no code: who opens it gives the functions, and views are made anew by one of another body."""
    place = tmp_path / "state"
    with deltic.Pipeline(state=place, functions=[times(2)]) as pipeline:
        pipeline.sql("CREATE TABLE t (x BIGINT); CREATE VIEW v AS SELECT f(x) AS y FROM t")
        pipeline.sql("INSERT INTO t VALUES (1), (2)")
    with pytest.raises(StateError, match=r"there is no function f[\s\S]*given with functions="):
        deltic.Pipeline(state=place)
    with deltic.Pipeline(state=place, functions=[times(2)]) as pipeline:
        pipeline.sql("DELETE FROM t WHERE x = 1")
        assert list(pipeline["v"]) == [(4,)]
    with deltic.Pipeline(state=place, functions=[times(3)]) as pipeline:
        assert list(pipeline["v"]) == [(6,)]
        assert pipeline.function(times(2)).replaced == ("v",)
        pipeline.sql("INSERT INTO t VALUES (5)")
        reader = deltic.Pipeline(state=place, functions=[times(2)], durability=deltic.Durability(readonly=True))
        assert sorted(reader["v"]) == sorted(pipeline["v"]) == [(4,), (10,)]


@pytest.mark.parametrize("nulls", ["skip", "pass"])
@pytest.mark.parametrize("returns", ["int64", "int64?"])
def test_a_call_as_a_tree(nulls, returns):
    """What other front ends build: its type is as promised, and its value the function's."""
    half = lambda k: None if k % 2 and returns == "int64?" else k // 2  # noqa: E731
    function = deltic.function(half, name="half", arguments=["int64"], returns=returns, nulls=nulls, **EXACT)
    tree = function.applied([column("k")])
    type_ = infer(tree, {"k": ValueType(Type.INT64)})
    assert type_ == ValueType(Type.INT64, function.may_be_null([False]))
    assert [evaluate(tree, {"k": k}, {"k": Type.INT64}) for k in (4, 7)] == [2, None if returns == "int64?" else 3]
