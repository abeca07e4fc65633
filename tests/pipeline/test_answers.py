"""Answers as what people have: named tuples, frames, streams of Arrow; and their types, one for each way to ask."""

from __future__ import annotations

import pickle
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import deltic


@pytest.fixture
def pipeline() -> deltic.Pipeline:
    made = deltic.Pipeline()
    made.sql("CREATE TABLE sale (id INT PRIMARY KEY, price DECIMAL(8, 2), `a b` STRING)")
    made.sql("CREATE VIEW total AS SELECT sum(price) AS price FROM sale")
    made.execute("INSERT INTO sale VALUES (?, ?, ?), (2, 3, NULL)", [1, Decimal("1.5"), "x"])
    return made


def test_rows_are_named_tuples_that_are_tuples(pipeline):
    row, other = sorted(pipeline["sale"])
    assert (row.id, row.price, row._2, row) == (1, Decimal("1.50"), "x", (1, Decimal("1.50"), "x"))
    assert repr(other) == "(2, Decimal('3.00'), None)"
    sent = pickle.loads(pickle.dumps(row))
    assert (type(sent), sent) == (tuple, row)
    change = pipeline.execute("DELETE FROM sale WHERE id = :id", {"id": 2})
    assert [(row.price, weight) for row, weight in sorted(change.of("total"))] == [
        (Decimal("1.50"), 1),
        (Decimal("4.50"), -1),
    ]


@pytest.mark.parametrize("read", [lambda p: p["sale"], lambda p: p["sale"].rows(), lambda p: p.query("FROM sale")])
def test_rows_are_what_other_libraries_take(pipeline, read):
    rows = read(pipeline)
    assert rows.columns == ["id", "price", "a b"]
    assert pa.table(rows).num_rows == 2
    assert rows.__dataframe__().num_rows() == 2
    assert rows.to_pandas(floats=True)["price"].sum() == 4.5
    assert rows.df().equals(rows.to_pandas())
    assert rows.schema.names == ("id", "price", "a b")
    assert len(rows.head(1)) == 1
    named = pa.table(rows)  # noqa: F841 DuckDB finds it by its name
    assert duckdb.sql("SELECT sum(price) FROM named").fetchall() == [(Decimal("4.50"),)]
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(rows).equals(rows.to_polars())


def test_show_prints_the_first_rows(pipeline, capsys):
    question = "SELECT id, `a b`, price > 2 AS dear, TIMESTAMP '2026-01-02' AS at FROM sale ORDER BY id"
    pipeline.query(question).show()
    wanted = """
id  a b   dear   at
 1  x     false  2026-01-02 00:00:00+00:00
 2  NULL  true   2026-01-02 00:00:00+00:00
"""
    assert capsys.readouterr().out == wanted[1:]
    pipeline.query("SELECT concat('a\\nb', repeat('c', 60)) AS c FROM sale").show(1)
    assert capsys.readouterr().out == f"c\na⏎b{'c' * 56}…\nand 1 more\n"
    change = pipeline.execute("DELETE FROM sale WHERE id = 1").of("total")
    assert repr(change.head(1)) == "price  __weight__\n 3.00           1"


def test_each_way_to_ask_refuses_what_is_of_another_type(pipeline):
    with pytest.raises(deltic.ProgramError, match=r"a question is SELECT, SHOW or DESCRIBE.*\n.*\n.*\n.*pipeline.sql"):
        pipeline.query("DELETE FROM sale")
    with pytest.raises(deltic.ProgramError, match="a transaction takes INSERT, DELETE, UPDATE and MERGE"):
        pipeline.execute("SELECT 1")


def test_questions_and_changes_are_of_the_transaction_that_begin_has_opened(pipeline):
    pipeline.sql("BEGIN")
    pipeline.execute("DELETE FROM sale WHERE id = 1")
    assert [row.id for row in pipeline.query("SELECT id FROM sale")] == [2]
    pipeline.sql("ROLLBACK")
    assert len(pipeline.query("SELECT id FROM sale")) == 2
