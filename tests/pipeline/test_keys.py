"""Primary keys under random transactions of few and of many rows: rejected is what repeats a key, and nothing else."""

from __future__ import annotations

import random
from contextlib import nullcontext

import pytest

import deltic
from deltic.errors import ChangeError

TABLES = {
    "a prefix": ("CREATE TABLE t (a STRING PRIMARY KEY, b INT NOT NULL, x STRING NOT NULL)", (0,)),
    "a suffix": ("CREATE TABLE t (x STRING NOT NULL, b INT NOT NULL, a STRING PRIMARY KEY)", (2,)),
    "two, apart": ("CREATE TABLE t (a BIGINT, x STRING NOT NULL, b INT, PRIMARY KEY (a, b))", (0, 2)),
}
VIEW = "CREATE VIEW v AS SELECT x, count(*) AS n FROM t GROUP BY x"


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("seed", range(8))
def test_random_transactions(case, seed):
    rng, (table, key) = random.Random(seed), TABLES[case]
    pipeline = deltic.Pipeline(engine="local") if seed < 6 else deltic.Pipeline(engine="spark", shards=3)
    pipeline.sql(f"{table}; {VIEW}")
    names, rows = list(pipeline.tables["t"].names), set()
    for _ in range(8):
        gone = set(rng.sample(sorted(rows), min(len(rows), rng.randint(0, 10))))
        come = {_row(rng, names) for _ in range(rng.choice((1, 40, 120)))} - rows
        if rng.random() < 0.6:
            taken = {_key(row, key) for row in rows - gone}
            come = set({_key(row, key): row for row in come if _key(row, key) not in taken}.values())
        after = (rows - gone) | come
        fits = len({_key(row, key) for row in after}) == len(after)
        if fits:
            _apply(pipeline, gone, come)
            rows = after
        else:
            with pytest.raises(ChangeError, match="several rows would have the key"):
                _apply(pipeline, gone, come)
        assert set(pipeline["t"]) == rows


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("order", ["the row first", "the key first", "one batch"])
def test_a_deletion_of_an_absent_row_and_of_its_key(engine, order):
    """Catches a key that counts as there because a row of it was deleted, which never was there."""
    pipeline = deltic.Pipeline(engine=engine, **({"shards": 3} if engine == "spark" else {}))
    pipeline.sql(f"CREATE TABLE t (a BIGINT PRIMARY KEY, x STRING NOT NULL); {VIEW}")
    _apply(pipeline, [], rows := [(1, "u"), (2, "v")])
    steps = [[(5, "u")], [{"a": 5}]]
    for conflicts in ("error", "normalize", "trust"):
        rejects = pytest.raises(ChangeError, match="by key rows that are absent: a = 5")
        with rejects if conflicts == "error" else nullcontext(), pipeline.transaction(conflicts) as change:
            if order == "one batch":
                change.change("t", [{"op": "-", "a": 5, "x": "u"}, {"op": "d", "a": 5}])
            for rows_or_keys in {"the row first": steps, "the key first": steps[::-1]}.get(order, []):
                change.delete("t", rows_or_keys)
        assert sorted(pipeline["t"]) == rows
        assert sorted(pipeline["v"]) == [("u", 1), ("v", 1)]
    _apply(pipeline, [], [(5, "w")])
    assert sorted(pipeline["t"]) == [*rows, (5, "w")]


@pytest.mark.parametrize("engine", ["local", "spark", "reference"])
@pytest.mark.parametrize("gone", [[{"a": 1}], [(1, "u")]])
def test_a_change_by_key_hides_no_conflict_of_a_row(engine, gone):
    """Catches a deletion of an absent row, or an insertion of a present one, that a change of its key makes up for."""
    pipeline = deltic.Pipeline(engine=engine, **({"shards": 3} if engine == "spark" else {}))
    pipeline.sql(f"CREATE TABLE t (a BIGINT PRIMARY KEY, x STRING NOT NULL); {VIEW}")
    _apply(pipeline, [], rows := [(1, "u"), (2, "v")])
    by_key = [("delete", [{"a": 1}]), ("upsert", [(1, "w")]), ("update", [{"a": 1, "x": "w"}])]
    unfit = [("delete", [(1, "z")], "delete a row that is absent: \\(1, 'z'\\)"),
             ("insert", [(1, "u")], "insert a row that is present: \\(1, 'u'\\)")]  # fmt: skip
    for kind, given in by_key:
        for row_kind, row, entry in unfit:
            with pytest.raises(ChangeError, match=entry):
                _do(pipeline, (row_kind, row), (kind, given))
            assert sorted(pipeline["t"]) == rows
            assert sorted(pipeline["v"]) == [("u", 1), ("v", 1)]
    for kind, given, after in [(*by_key[0], []), (*by_key[1], [(1, "w")]), (*by_key[2], [(1, "w")])]:
        _do(pipeline, ("delete", [(1, "z")]), ("insert", [(1, "u")]), (kind, given), conflicts="normalize")
        assert sorted(pipeline["t"]) == [*after, (2, "v")]
        _apply(pipeline, after, [(1, "u")])
    _do(pipeline, ("delete", [(1, "z")]), ("insert", [(1, "z")]), ("delete", gone))
    assert sorted(pipeline["t"]) == [(2, "v")]


def _apply(pipeline, gone, come):
    with pipeline.transaction() as change:
        change.delete("t", sorted(gone))
        change.insert("t", sorted(come))


def _do(pipeline, *steps, conflicts="error"):
    with pipeline.transaction(conflicts) as change:
        for kind, rows in steps:
            getattr(change, kind)("t", rows)


def _key(row, key):
    return tuple(row[i] for i in key)


def _row(rng, names):
    number = rng.randrange(400)
    values = {"a": number // 8 if names == ["a", "x", "b"] else f"k{number}", "b": number % 8, "x": rng.choice("uvw")}
    return tuple(values[name] for name in names)
