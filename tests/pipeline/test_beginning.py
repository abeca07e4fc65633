"""Tables that begin with rows: columns as the rows have them, all or nothing."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic import CatalogError, ChangeError, DataError, DelticError, Pipeline

ROWS = [(1, "ada", 12.5), (2, None, 3.0)]
FRAME = pd.DataFrame({"id": [1, 2], "name": ["ada", None], "price": [12.5, 3.0]})
COLUMNS = "{id: int64, name: string?, price: float64?}"


@dataclasses.dataclass
class Sale:
    id: int
    name: str | None
    price: float


class Named(NamedTuple):
    id: int
    name: str | None
    price: float


class Interchanged:
    """A frame of a library that has the dataframe interchange alone."""

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return pa.Table.from_pandas(FRAME).__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize(
    "rows",
    [
        FRAME,
        Interchanged(),
        pa.Table.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME).to_reader(),
        FRAME.astype(object).where(FRAME.notna(), None).to_dict("records"),
        [Sale(*row) for row in ROWS],
        (Named(*row) for row in ROWS),
    ],
    ids=["pandas", "interchange", "arrow", "reader", "dicts", "dataclasses", "named tuples"],
)
def test_frames_and_rows_with_names(rows):
    pipeline = Pipeline()
    pipeline.table("sale", rows, key="id")
    assert repr(pipeline["sale"]) == f"sale{COLUMNS}: 2 rows"
    assert sorted(pipeline["sale"]) == ROWS
    pipeline.execute("INSERT INTO sale VALUES (3, 'cyd', 1)")
    other = Pipeline()
    other.table("copy", pipeline["sale"])
    assert sorted(other["copy"]) == sorted(pipeline["sale"])


def test_lazy_frames_of_polars():
    polars = pytest.importorskip("polars")
    pipeline = Pipeline()
    pipeline.table("sale", polars.LazyFrame({"id": [1, 2]}), key="id")
    with pipeline.transaction() as change:
        change.insert("sale", polars.LazyFrame({"id": [3]}))
    assert sorted(pipeline["sale"]) == [(1,), (2,), (3,)]


def test_named_indexes_of_pandas_are_columns():
    pipeline = Pipeline()
    pipeline.table("sale", FRAME.set_index("id"), key="id")
    assert repr(pipeline["sale"]) == f"sale{COLUMNS}: 2 rows"
    assert sorted(pipeline["sale"]) == ROWS
    with pipeline.transaction() as change:
        change.upsert("sale", pd.DataFrame({"id": [2], "name": ["bob"], "price": [4.0]}).set_index(["id", "name"]))
        change.delete("sale", FRAME[:1].set_index("id")[[]])
    assert sorted(pipeline["sale"]) == [(2, "bob", 4.0)]
    with pipeline.transaction() as change:
        change.update("sale", pd.DataFrame({"price": [5.0]}, index=pd.Index([2], name="id")))
        change.insert("sale", FRAME[:1].set_index("id", drop=False))
    assert sorted(pipeline["sale"]) == [(1, "ada", 12.5), (2, "bob", 5.0)]


def test_relations_of_duckdb_and_arrays_of_numpy():
    pipeline = Pipeline()
    pipeline.table("a", duckdb.sql("SELECT 1::INTEGER AS x, DATE '2026-01-02' AS d"))
    pipeline.table("b", np.array([(1, 2.5)], dtype=[("x", "i4"), ("y", "f8")]), key=["x"])
    assert list(pipeline["a"]) == [(1, dt.date(2026, 1, 2))]
    assert repr(pipeline["b"]) == "b{x: int32, y: float64?}: 1 row"


def test_files(tmp_path):
    pipeline = Pipeline()
    table = pa.Table.from_pandas(FRAME)
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "a.csv").write_text("id,name,price\n1,ada,12.5\n2,,3.0\n")
    (tmp_path / "a.tsv").write_text("id\tname\tprice\n1\tada\t12.5\n2\t\t3.0\n")
    (tmp_path / "a.jsonl").write_text(FRAME.to_json(orient="records", lines=True))
    for number, ending in enumerate(("csv", "tsv", "parquet", "arrow", "jsonl")):
        pipeline.table(f"t{number}", tmp_path / f"a.{ending}", key="id")
        assert [row[0] for row in sorted(pipeline[f"t{number}"])] == [1, 2], ending
        assert [column for column, _ in pipeline.tables[f"t{number}"].types.items()] == ["id", "name", "price"]
        assert sorted(pipeline[f"t{number}"])[1][1] is None


def test_an_empty_field_of_a_key_is_the_empty_text(tmp_path):
    (tmp_path / "a.csv").write_text("code,name\n,\nb,c\n")
    pipeline = Pipeline()
    pipeline.table("t", tmp_path / "a.csv", key="code")
    assert sorted(pipeline["t"]) == [("", None), ("b", "c")]


@pytest.mark.parametrize("other", [";", "\t", "|"])
def test_a_file_with_another_delimiter_is_refused(tmp_path, other):
    path = tmp_path / "orders.csv"
    path.write_text(f"id{other}name\n1{other}ada\n")
    with pytest.raises(DataError, match="the file has one column"):
        Pipeline().table("orders", path)
    with pytest.raises(DelticError, match="the file has one column"):
        Pipeline().sql(f"CREATE TABLE orders USING csv OPTIONS (header 'true') LOCATION '{path}'")
    pipeline = Pipeline()
    pipeline.sql(f"CREATE TABLE o USING csv OPTIONS (header 'true', sep '{other}') LOCATION '{path}'")
    assert sorted(pipeline["o"]) == [(1, "ada")]


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "names.csv"
    path.write_bytes("id,name\n1,café\n".encode("latin-1"))
    with pytest.raises(CatalogError, match="column name is not UTF-8 text; save the file as UTF-8"):
        Pipeline().table("names", path)


def test_a_file_with_another_delimiter_names_it_and_is_read_with_it(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("id;shop;price\n1;ada;12,50\n2;bob;3,00\n")
    pipeline = Pipeline()
    with pytest.raises(DataError, match='delimiter=";"'):
        pipeline.table("sale", path, key="id")
    pipeline.table("sale", deltic.File(path, delimiter=";", headers=True), key="id")
    assert sorted(pipeline["sale"]) == [(1, "ada", "12,50"), (2, "bob", "3,00")]


def test_rows_without_a_key_are_a_bag():
    pipeline = Pipeline()
    pipeline.table("t", pd.concat([FRAME, FRAME]))
    assert len(pipeline["t"]) == 4


def test_rows_of_spark(spark):
    pipeline = Pipeline(spark)
    pipeline.table("t", spark.createDataFrame([(1, "x"), (2, None)], "id INT, name STRING"), key="id")
    assert sorted(pipeline["t"]) == [(1, "x"), (2, None)]


def test_a_table_whose_rows_do_not_fit_is_not_there():
    pipeline = Pipeline()
    with pytest.raises(ChangeError, match="same row more than once"):
        pipeline.table("t", pd.concat([FRAME, FRAME]), key="id")
    with pytest.raises(deltic.DataError, match="column name: expected a string, found null"):
        pipeline.table("t", FRAME, key="name")
    assert "t" not in pipeline
    pipeline.table("t", FRAME, key="id")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([(1, 2)], r"its columns come from a mapping .*; found \[\(1, 2\)\]"),
        ([], r"found \[\]"),
        (7, "found 7"),
        ([{"a": None}], "column a: it has no value to infer a type from"),
        ([{"a": 1}, {"a": "x"}], "column a: it has values of several types"),
        ("sale.xls", "the form of sale.xls is not known: it may be one of .csv, .tsv"),
        ("nothing.csv", "there is no file nothing.csv; relative paths start at /"),
        (deltic.File("nothing.csv"), r"File\(…, headers=True\)"),
        ({"a": "BIGNT"}, "column a: there is no type 'BIGNT'"),
    ],
)
def test_what_tells_no_columns(given, message):
    with pytest.raises(CatalogError, match=message):
        Pipeline().table("t", given)


def test_types_by_the_names_of_sql():
    pipeline = Pipeline()
    types = {"a": "BIGINT", "b": "INT?", "c": "DOUBLE", "d": "DECIMAL(8, 2)?", "e": "ARRAY<INT>?", "f": "STRING"}
    pipeline.table("t", types)
    message = "{a: int64, b: int32?, c: float64, d: decimal(8,2)?, e: array(int32?)?, f: string}"
    assert repr(pipeline["t"]).replace(", 2)", ",2)") == f"t{message}: no epoch yet"


def test_texts_of_bounded_length_are_those_of_sql(tmp_path):
    with Pipeline(state=tmp_path) as pipeline:
        pipeline.table("t", {"a": "VARCHAR(3)", "b": "CHAR(2)?", "c": "varchar"})
        with pytest.raises(deltic.DelticError, match="more letters than its column takes"):
            pipeline.execute("INSERT INTO t VALUES ('long', 'x', 'y')")
        pipeline.execute("INSERT INTO t VALUES ('ab   ', 'x ', 'y')")
    with Pipeline(state=tmp_path) as pipeline:
        assert list(pipeline["t"]) == [("ab ", "x", "y")]
        message = "CREATE TABLE t (a VARCHAR(3) NOT NULL, b CHAR(2), c STRING NOT NULL)"
        assert list(pipeline.query("SHOW CREATE TABLE t")) == [(message,)]
        with pytest.raises(deltic.DelticError, match="more letters than its column takes"):
            pipeline.execute("INSERT INTO t VALUES ('long', 'x', 'y')")
