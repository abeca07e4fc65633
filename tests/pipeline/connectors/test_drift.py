"""Sources whose columns change: new ones are ignored, added or refused by a choice; removed and retyped ones refused.

Catches a new column whose values go to another one, a file that is refused without its name, a table that a refused
refresh has changed, and a column that is lost when the state is opened again.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import deltic
from deltic.errors import CatalogError, DataError

KINDS = ("parquet", "csv", "json", "arrow", "delta")


def write(folder, kind, name, rows):
    table = pa.table(rows)
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    else:
        pytest.importorskip("deltalake").write_deltalake(str(folder), table, mode="append", schema_mode="merge")


def text(kind, folder, choice):
    options = f"new_columns '{choice}'" + (", header 'true'" if kind == "csv" else "")
    return f"CREATE TABLE sale USING {kind} OPTIONS ({options}) LOCATION '{folder}'"


def begun(kind, folder, choice, **options):
    write(folder, kind, "a", {"id": [1], "shop": ["x"]})
    pipeline = deltic.Pipeline(**options)
    pipeline.sql(text(kind, folder, choice))
    pipeline.sql("CREATE VIEW shops AS SELECT shop, count(*) AS n FROM sale GROUP BY shop")
    write(folder, kind, "b", {"extra": [1.5], "id": [2], "shop": ["x"]})
    return pipeline


@pytest.mark.parametrize("kind", KINDS)
def test_new_columns_are_ignored(kind, tmp_path):
    pipeline = begun(kind, tmp_path / "in", "ignore")
    pipeline.refresh()
    assert sorted(pipeline["sale"]) == [(1, "x"), (2, "x")]
    assert list(pipeline["shops"]) == [("x", 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_new_columns_are_refused(kind, tmp_path):
    pipeline = begun(kind, tmp_path / "in", "refuse")
    with pytest.raises(
        DataError, match=r"table sale: there is a new column extra \(float64\)\n  hint: new_columns='add'"
    ) as caught:
        pipeline.refresh()
    assert kind == "delta" or f"b.{kind}" in str(caught.value)
    assert list(pipeline["sale"]) == [(1, "x")]


@pytest.mark.parametrize("kind", KINDS)
def test_new_columns_are_added(kind, tmp_path):
    folder, state = tmp_path / "in", tmp_path / "state"
    with begun(kind, folder, "add", state=state) as pipeline:
        pipeline.refresh()
        assert sorted(pipeline["sale"]) == [(1, "x", None), (2, "x", 1.5)]
        assert list(pipeline["shops"]) == [("x", 2)]
    with deltic.Pipeline(state=state) as pipeline:
        assert sorted(pipeline["sale"]) == [(1, "x", None), (2, "x", 1.5)]
        write(folder, kind, "c", {"id": [3], "shop": ["y"], "extra": [2.5]})
        pipeline.refresh()
        assert sorted(pipeline["sale"]) == [(1, "x", None), (2, "x", 1.5), (3, "y", 2.5)]
        assert sorted(pipeline["shops"]) == [("x", 2), ("y", 1)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "delta"])
def test_files_from_before_a_column_was_added(kind, tmp_path):
    folder = tmp_path / "in"
    pipeline = begun(kind, folder, "add")
    pipeline.refresh()
    write(folder, kind, "a", {"id": [7], "shop": ["z"]})
    pipeline.refresh()
    assert sorted(pipeline["sale"]) == [(2, "x", 1.5), (7, "z", None)]
    (folder / f"a.{kind}").unlink()
    pipeline.refresh()
    assert list(pipeline["sale"]) == [(2, "x", 1.5)]
    assert pipeline.refresh(full=True).sources["sale"].deleted == 0


@pytest.mark.parametrize("choice", ["ignore", "refuse", "add"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "delta"])
def test_removed_and_retyped_columns_are_refused(kind, choice, tmp_path):
    folder = tmp_path / "in"
    pipeline = begun(kind, folder, choice)
    (folder / f"b.{kind}").unlink()
    write(folder, kind, "c", {"id": [2], "market": ["x"]})
    with pytest.raises(DataError, match=f"c.{kind}.*(column shop is missing|no field has the name of the column shop)"):
        pipeline.refresh()
    write(folder, kind, "c", {"id": ["two"], "shop": ["x"]})
    with pytest.raises(DataError, match=rf"c.{kind}.*expected a number"):
        pipeline.refresh()
    assert list(pipeline["sale"]) == [(1, "x")]
    assert list(pipeline["sale"].schema.names) == ["id", "shop"]


def test_a_program_that_runs_again_keeps_the_added_column(tmp_path):
    folder, state = tmp_path / "in", tmp_path / "state"
    write(folder, "parquet", "a", {"id": [1], "shop": ["x"]})
    program = text("parquet", folder, "add") + "; CREATE VIEW n AS SELECT count(*) AS n FROM sale"
    for day, rows in enumerate(
        (
            {"id": [2], "shop": ["x"]},
            {"id": [3], "shop": ["y"], "extra": [1.5]},
            {"id": [4], "shop": ["z"], "extra": [2.5]},
        )
    ):
        write(folder, "parquet", f"day{day}", rows)
        with deltic.Pipeline(state=state, program=program) as pipeline:
            pipeline.refresh()
            assert list(pipeline["n"]) == [(day + 2,)]
    with deltic.Pipeline(state=state, program=program) as pipeline:
        assert sorted(pipeline["sale"]) == [(1, "x", None), (2, "x", None), (3, "y", 1.5), (4, "z", 2.5)]


def test_files_that_disagree_on_a_new_column(tmp_path):
    folder = tmp_path / "in"
    pipeline = begun("parquet", folder, "add")
    write(folder, "parquet", "c", {"id": [2], "shop": ["x"], "extra": ["text"]})
    with pytest.raises(
        DataError, match=r"c.parquet: table sale: the new column extra is string, and float64 in .*b.par"
    ):
        pipeline.refresh()
    assert list(pipeline["sale"]) == [(1, "x")]


def test_invalid_choices(tmp_path):
    with pytest.raises(CatalogError, match="new_columns is one of ignore, add, refuse, found 'maybe'"):
        deltic.External("parquet", path=tmp_path, new_columns="maybe")
    (tmp_path / "a.csv").write_text("1,x\n")
    pipeline = deltic.Pipeline()
    pipeline.table("sale", {"id": "int64"}, source=deltic.External("csv", path=tmp_path, new_columns="add"))
    with pytest.raises(CatalogError, match="new_columns is about the names in a header"):
        pipeline.refresh()
    with pytest.raises(CatalogError, match="has the rows and columns of"):
        pipeline.alter("sale", add={"n": "int64?"})
