"""Look-ups by values and ranges: catches rows beside a range, NULL in one, and an order that is stale."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest

from deltic import DelticError, Pipeline, between

COLUMNS = {"a": "int64?", "b": "string?", "c": "float64", "d": "date?", "e": "decimal(6, 2)", "f": "uint64"}
DAY = date(2026, 1, 1)


def row(rng):
    pick = rng.randrange(6)
    value = rng.choice([None, rng.randrange(-50, 50)])
    text = rng.choice([None, "", "a", "ab", "b", "\u00e9"])
    number = [1.5, -0.5, 0.0, float("inf"), float("nan"), -2.0][pick]
    return (
        value,
        text,
        number,
        rng.choice([None, DAY + timedelta(pick)]),
        rng.randrange(-500, 500),
        rng.choice([0, 2**64 - 1]),
    )


def bound(rng, column):
    drawn = row(rng)[list(COLUMNS).index(column)]
    return drawn if drawn == drawn else None


def test_both_engines_find_the_same():
    rng = random.Random(0)
    pipelines = [Pipeline(), Pipeline(engine="reference")]
    for pipeline in pipelines:
        pipeline.table("t", COLUMNS, bag=True)
        pipeline.table("n", {"x": "int64?"})
        pipeline.sql("CREATE VIEW v AS SELECT d, a, e, c FROM t")
    for _ in range(4):
        batch = [row(rng) for _ in range(60)]
        numbers = [(rng.choice([None, -(2**63), 2**63 - 1, rng.randrange(-9, 9)]),) for _ in range(3)]
        for pipeline in pipelines:
            with pipeline.transaction("normalize") as change:
                change.insert("t", batch)
                change.insert("n", numbers)
        for _ in range(40):
            name = rng.choice(["t", "v", "v"])
            known = list(pipelines[0][name].schema.names)
            names = rng.sample(known, rng.randint(1, 3))
            key = {n: between(bound(rng, n), bound(rng, n)) if rng.random() < 0.6 else bound(rng, n) for n in names}
            key = {n: v for n, v in key.items() if v is not None or n in ("a", "b", "d")}
            found = [sorted(map(repr, pipeline[name].lookup(**key))) for pipeline in pipelines]
            assert found[0] == found[1], (name, key)
            low, high = rng.choice([None, -(2**63), -3, 0, 5]), rng.choice([None, 2**63 - 1, 4, 0, -5])
            found = [sorted(map(repr, pipeline["n"].lookup(x=between(low, high)))) for pipeline in pipelines]
            assert found[0] == found[1], (low, high)


def test_ranges_that_are_none():
    pipeline = Pipeline()
    pipeline.table("t", {"a": "array(int64)", "b": "int8"})
    with pytest.raises(DelticError, match="t, column a: ranges of type array"):
        pipeline["t"].lookup(a=between([1], [2]))
    with pytest.raises(DelticError, match="t, column b: 300 is out of range"):
        pipeline["t"].lookup(b=between(1, 300))
