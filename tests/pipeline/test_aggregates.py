"""Aggregates of a user's own: each epoch as SQL's of the same meaning, or as the reference engine computes them.

Catches a group that stays when its last row goes, a result that is not taken back, and a state that forgets.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic.errors import CatalogError, EvaluationError

COLUMNS = {"by": {"k": "string"}, "of": {"x": "int64"}, "gives": {"r": "int64"}}


class Sum:
    def __init__(self):
        self.total = 0

    def update(self, value, weight):
        self.total += value * weight

    def result(self):
        return self.total


class Forgetful(Sum):
    def update(self, value, weight):
        self.total += value * max(weight, 0)


MADE = {
    "whole": ({}, max, "max(x)"),
    "state": ({"state": Sum}, sum, "sum(x)"),
    "of no key": ({"by": {}}, len, "count(*)"),
    "of two": ({"of": {"x": "int64", "y": "int64"}}, lambda xy: sum(x * y for x, y in xy), "sum(x * y)"),
}


@pytest.mark.parametrize("made", MADE)
def test_groups_are_those_of_sql(made):
    given, function, sql = MADE[made]
    given = {**COLUMNS, **given}
    pipeline = deltic.Pipeline()
    pipeline.table("t", {"k": "string", "x": "int64", "y": "int64"}, bag=True)
    columns = [*given["by"], *given["of"]]
    pipeline.view("mine", pipeline.flow("t").select(*columns).apply(deltic.aggregate(function, name="f", **given)))
    keys = ", ".join(given["by"])
    query = (
        f"SELECT {keys + ',' if keys else ''} {sql} AS r FROM t {'GROUP BY ' + keys if keys else 'HAVING count(*) > 0'}"
    )
    pipeline.sql(f"CREATE VIEW theirs AS {query}")
    rng, rows = random.Random(8), []
    for epoch in range(15):
        come = [(rng.choice("abc"), rng.randrange(-3, 9), rng.randrange(4)) for _ in range(rng.randrange(5))]
        gone = [rows.pop(rng.randrange(len(rows))) for _ in range(min(len(rows), rng.randrange(6)))]
        rows += come
        with pipeline.transaction() as change:
            change.insert("t", come)
            change.delete("t", gone)
        assert sorted(change.of("mine")) == sorted(change.of("theirs"))
        if epoch == 7:
            with pipeline.transaction() as change:
                change.delete("t", rows)
            rows = []
        assert sorted(pipeline["mine"]) == sorted(pipeline["theirs"])


def test_its_law_is_checked():
    deltic.check_derivative(deltic.aggregate(max, name="greatest", **COLUMNS), examples=30)
    deltic.check_derivative(deltic.aggregate(sum, name="total", state=Sum, **COLUMNS), examples=30)
    with pytest.raises(AssertionError, match="operator forgetful: f"):
        deltic.check_derivative(deltic.aggregate(sum, name="forgetful", state=Forgetful, **COLUMNS), examples=100)


def test_another_state_is_another_operator():
    one, other = (deltic.aggregate(sum, name="s", state=state, **COLUMNS) for state in (Sum, Forgetful))
    assert one.entry != other.entry
    assert one.entry == deltic.aggregate(sum, name="s", state=Sum, **COLUMNS).entry


def test_errors():
    with pytest.raises(CatalogError, match="aggregate sum: by, of and gives have"):
        deltic.aggregate(sum, by={"k": str}, of={"k": int}, gives={"r": int})
    pipeline = deltic.Pipeline()
    pipeline.table("t", {"k": "string", "x": "int64"})
    pipeline.view("v", pipeline.flow("t").apply(deltic.aggregate(lambda x: 1 // min(x), name="f", **COLUMNS)))
    with (
        pytest.raises(EvaluationError, match="v: operator f raised ZeroDivisionError"),
        pipeline.transaction() as change,
    ):
        change.insert("t", [("a", 0)])
    with pipeline.transaction() as change:
        change.insert("t", [("a", 1)])
    assert list(pipeline["v"]) == [("a", 1)]
