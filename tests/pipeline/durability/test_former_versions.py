"""States that commit 7fedd74d wrote open: checkpoints with logs after them, of one engine, of shards, and of jobs.

Catches a file format, or a name within it, that changes without a way for the states that are there.
"""

from __future__ import annotations

import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import deltic
from deltic import Shards
from tests.pipeline.test_shards import Session

FIXTURES = Path(__file__).parents[2] / "fixtures" / "state"
SALES = [
    (i, None if i % 7 == 0 else f"shop {i % 5}", Decimal(i * 31 % 97) / 4, date(2026, 1, 1 + i % 28))
    for i in range(40)
    if i != 3
] + [(41, "shop ö", Decimal("7.25"), None), (42, "shop 1", None, date(2026, 2, 1))]
NOTES = [(f"shop {i % 5}", f"note {i}") for i in range(6)] + [("shop 1", "note 1")]
REACHED = {"a": "bcdef", "b": "cdef", "c": "def", "d": "ef", "e": "f"}


def rows(pipeline, name):
    return sorted(map(tuple, (row.values() for row in pipeline[name].to_arrow().to_pylist())), key=repr)


def opened(tmp_path, written, **options):
    shutil.copytree(FIXTURES / written, tmp_path / "state")
    return deltic.Pipeline(state=tmp_path / "state", **options)


def takings():
    shops = {}
    for _, shop, price, day in SALES:
        shops.setdefault(shop, []).append((price, day))
    return [
        (
            shop,
            sum(price for price, _ in sold if price is not None),
            len(sold),
            min((day for _, day in sold if day is not None), default=None),
        )
        for shop, sold in shops.items()
    ]


def check(pipeline, more=()):
    """The tables and views are what Python makes of the rows that were written, and `more` links."""
    assert rows(pipeline, "sale") == sorted(SALES, key=repr)
    assert rows(pipeline, "note") == sorted(NOTES, key=repr)
    assert rows(pipeline, "takings") == sorted(takings(), key=repr)
    priced = sorted((sale for sale in SALES if sale[2] is not None), key=lambda sale: (-sale[2], sale[0]))
    assert rows(pipeline, "best") == sorted(((shop, price) for _, shop, price, _ in priced[:3]), key=repr)
    noted = [(number, note) for number, shop, _, _ in SALES for other, note in NOTES if shop == other]
    assert rows(pipeline, "noted") == sorted(noted, key=repr)
    reached = [(x, y) for x, all_of in REACHED.items() for y in all_of]
    assert rows(pipeline, "reach") == sorted([*reached, *more], key=repr)


@pytest.mark.parametrize("written", ["local", "shards"])
@pytest.mark.parametrize("by", ["local", "shards"])
def test_a_state_of_before_goes_on(tmp_path, written, by):
    options = {"engine": "spark", "shards": Shards(3)} if by == "shards" else {"engine": "local"}
    with opened(tmp_path, written, **options) as pipeline:
        assert pipeline.epoch == 2
        assert pipeline.positions == {"sales": 42}
        check(pipeline)
        with pipeline.transaction() as change:
            change.insert("link", [("f", "g")])
        check(pipeline, [(x, "g") for x in "abcdef"])


@pytest.mark.parametrize("by", ["local", "process"])
def test_rows_in_the_log_that_tasks_have_written(tmp_path, by):
    """Some are in the log, others in files that it names."""
    edges = {(i + start, i + start + 1) for start, count in ((0, 10), (20, 6), (40, 6)) for i in range(count)}
    shards = Shards(2, directory=tmp_path / "shards", executor="process")
    given = {"spark": Session(), "engine": "spark", "shards": shards} if by == "process" else {}
    with opened(tmp_path, "jobs", **given) as pipeline:
        assert rows(pipeline, "e") == sorted(edges, key=repr)
        two = {(x, z) for x, y in edges for w, z in edges if y == w}
        assert rows(pipeline, "two") == sorted(two, key=repr)
