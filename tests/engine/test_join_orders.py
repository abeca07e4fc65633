"""Joins under conditions visit few rows: the strictest test comes first, and nothing is joined by a constant alone.

What these tests catch: atoms that are visited in the order of the text, tables that are multiplied because a constant
says where in one to look, loads that begin with the last table whatever conditions leave of the others, and estimates
that take tables to be multiplied which an equation in WHERE joins. Rows visited depend on plans and data alone.
"""

from __future__ import annotations

import pytest

from deltic import Pipeline, Shards
from deltic.pipeline.options import Resources

FACTS, KEYS = 2_000, 200
TABLES = """
    CREATE TABLE loan (loan BIGINT, book BIGINT NOT NULL, member BIGINT NOT NULL, PRIMARY KEY (loan));
    CREATE TABLE book (book BIGINT, year BIGINT NOT NULL, shelf BIGINT NOT NULL, PRIMARY KEY (book));
    CREATE TABLE member (member BIGINT, year BIGINT NOT NULL, town BIGINT NOT NULL, PRIMARY KEY (member));
    CREATE TABLE town (town BIGINT, region BIGINT NOT NULL, PRIMARY KEY (town));
    CREATE TABLE region (region BIGINT, country BIGINT NOT NULL, PRIMARY KEY (region));
"""
STAR = "SELECT loan, shelf, town FROM loan, book, member WHERE loan.book = book.book AND loan.member = member.member"


def loaded(query, **options):
    """A pipeline with the view, and the rows that its load has visited."""
    pipeline = Pipeline(**options or {"engine": "local", "resources": Resources(threads=1)})
    pipeline.sql(f"{TABLES}; CREATE VIEW answer AS {query}")
    with pipeline.transaction() as change:
        change.insert("loan", [(n, 7 * n % KEYS, 11 * n % KEYS) for n in range(FACTS)])
        change.insert("book", [(n, n, n % 10) for n in range(KEYS)])
        change.insert("member", [(n, n, n % 50) for n in range(KEYS)])
        change.insert("town", [(n, n) for n in range(50)])
        change.insert("region", [(n, n % 2) for n in range(50)])
    return pipeline, change.report.rows_visited


def visited(pipeline):
    """The rows that a hundred more loans visit."""
    with pipeline.transaction() as change:
        change.insert("loan", [(FACTS + n, n, n) for n in range(100)])
    return change.report.rows_visited


@pytest.mark.parametrize(("strict", "loose"), [("book", "member"), ("member", "book")])
def test_the_strictest_test_comes_first(strict, loose):
    pipeline, load = loaded(f"{STAR} AND {strict}.year > {KEYS - 3} AND {loose}.year > 1")
    assert load < FACTS / 2
    assert visited(pipeline) <= 320
    assert "hidden relations" not in pipeline.explain("answer")


def test_shards_draw_no_samples_of_rows_that_are_in_files(monkeypatch):
    query = f"{STAR} AND book.year > {KEYS - 3} AND member.year > 1"
    wanted, _ = loaded(query)
    monkeypatch.setattr("deltic.engine.operators.query.Samples", None)
    with pytest.raises(TypeError, match="not callable"):
        loaded(query)
    pipeline, _ = loaded(query, engine="spark", shards=Shards(2))
    assert sorted(pipeline["answer"]) == sorted(wanted["answer"])


def test_what_only_a_constant_finds_is_not_multiplied():
    pipeline, _ = loaded(
        "SELECT loan FROM loan JOIN member ON loan.member = member.member JOIN town ON town.town = member.town "
        "JOIN region ON region.region = town.region WHERE country = 1"
    )
    assert visited(pipeline) <= 800
