"""Iceberg tables as sources, with a catalog in SQLite.

Catches files of a snapshot that are read though nothing changed, rows deleted by a file of deletes that stay, and a
snapshot that has expired. They run where pyiceberg is installed: `pip install 'pyiceberg[sql-sqlite]'`.
"""

from __future__ import annotations

import datetime as dt
import random
import sys

import pyarrow as pa
import pytest

import deltic
from deltic.catalog import External
from deltic.errors import DataError, DelticError
from tests.pipeline.connectors.test_by_tasks import open_, run_tasks_here

SCHEMA = pa.schema([("id", pa.int64()), ("shop", pa.string()), ("price", pa.int64())])


def sales(*rows):
    return pa.table(dict(zip(SCHEMA.names, zip(*rows, strict=True), strict=True)), schema=SCHEMA)


@pytest.fixture
def outside(tmp_path):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'pyiceberg[sql-sqlite]'")
    pytest.importorskip("sqlalchemy", reason="sqlalchemy, for a catalog in SQLite, is not installed")
    from pyiceberg.catalog import load_catalog

    fields = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    catalog = load_catalog("default", **fields)
    catalog.create_namespace("shop")
    return catalog.create_table("shop.sale", schema=SCHEMA), External("iceberg", table="shop.sale", **fields)


@pytest.fixture
def pipeline(outside):
    made = deltic.Pipeline()
    made.table("sale", source=outside[1])
    made.sql("CREATE VIEW takings AS SELECT shop, sum(price) AS total FROM sale GROUP BY shop")
    return made


def test_what_is_new_is_read(outside, pipeline):
    table, _ = outside
    assert pipeline.refresh().sources["sale"].how.startswith("compared")
    table.append(sales((1, "north", 3), (2, "south", 5)))
    told = pipeline.refresh().sources["sale"]
    assert (told.rows_read, told.files_read, told.inserted) == (2, 1, 2)
    table.append(sales((3, "north", 4)))
    assert "changes from snapshot " in pipeline.pending()["sale"]
    told = pipeline.refresh().sources["sale"]
    assert (told.rows_read, told.files_read) == (1, 1)
    assert sorted(pipeline["takings"]) == [("north", 7), ("south", 5)]
    assert pipeline.refresh().sources["sale"].how == "no snapshot"
    assert pipeline.pending()["sale"] == "no snapshot"
    assert pipeline.refresh(full=True).sources["sale"].how == "compared"


def test_values_that_do_not_fit_are_rounded(outside):
    table, place = outside
    table.append(sales((1, "2026-01-02", 3)))
    pipeline = deltic.Pipeline()
    columns = {"id": "bigint", "shop": "date", "price": "decimal(4, 2)"}
    pipeline.table("sale", columns, key="id", source=place, coerce=True)
    assert pipeline.refresh().sources["sale"].inserted == 1
    table.append(sales((2, "2026-01-03", 4)))
    assert pipeline.refresh().sources["sale"].rows_read == 1
    assert sorted(pipeline["sale"]) == [(1, dt.date(2026, 1, 2), 3), (2, dt.date(2026, 1, 3), 4)]


def test_random_commits(outside, pipeline):
    from pyiceberg.expressions import EqualTo

    table, _ = outside
    rng = random.Random(4)
    for step in range(12):
        for _ in range(rng.randrange(1, 3)):
            rows = sales(*[(rng.randrange(40), f"s{rng.randrange(4)}", rng.randrange(9)) for _ in range(5)])
            match rng.randrange(4):
                case 0:
                    table.delete(EqualTo("shop", f"s{rng.randrange(4)}"))
                case 1:
                    table.overwrite(rows, EqualTo("id", rng.randrange(40)))
                case _:
                    table.append(rows)
        told = pipeline.refresh().sources["sale"]
        assert step == 0 or told.how.startswith(("files of snapshot ", "no snapshot")), told
        wanted = table.refresh().scan().to_arrow().to_pylist()
        assert sorted(pipeline["sale"]) == sorted(tuple(row.values()) for row in wanted)


def test_a_snapshot_that_has_expired_and_a_table_made_anew(outside, pipeline, tmp_path):
    from pyiceberg.catalog import load_catalog

    table, place = outside
    table.append(sales((1, "north", 3)))
    pipeline.refresh()
    first = table.current_snapshot().snapshot_id
    table.overwrite(sales((2, "south", 5)))
    table.maintenance.expire_snapshots().by_id(first).commit()
    assert pipeline.refresh().sources["sale"].how == f"compared: snapshot {first} has expired"
    assert sorted(pipeline["sale"]) == [(2, "south", 5)]
    catalog = load_catalog("default", **{name: place[name] for name in ("uri", "warehouse")})
    catalog.drop_table("shop.sale")
    with pytest.raises(DataError, match="the Iceberg table cannot be read: Table does not exist"):
        pipeline.refresh()
    catalog.create_table("shop.sale", schema=SCHEMA, location=f"file://{tmp_path}/other").append(sales((9, "east", 1)))
    assert pipeline.refresh().sources["sale"].how == "compared: the table is another one"
    assert sorted(pipeline["sale"]) == [(9, "east", 1)]


def test_errors(monkeypatch):
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE sale (id BIGINT); CREATE VIEW ids AS SELECT id FROM sale")
    with pytest.raises(DelticError, match="iceberg is no target"):
        pipeline.publish("ids", External("iceberg", table="shop.takings"))
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.exceptions", None)
    with pytest.raises(DelticError, match=r"pip install 'deltic\[iceberg\]'"):
        pipeline.table("other", source=External("iceberg", table="shop.sale"))


def test_files_are_read_by_tasks(outside, tmp_path, monkeypatch):
    """Those that came and went, with their deleted rows; and all of them beside the table."""
    from pyiceberg.expressions import EqualTo

    run_tasks_here(monkeypatch)
    table, place = outside
    rng, hows = random.Random(7), set()
    pipeline = open_(tmp_path)
    pipeline.table("sale", source=place)
    for step in range(8):
        rows = sales(*[(rng.randrange(40), f"s{rng.randrange(4)}", rng.randrange(9)) for _ in range(9)])
        if step % 3 == 2:
            table.delete(EqualTo("shop", f"s{rng.randrange(4)}"))
        table.append(rows)
        told = pipeline.refresh(full=step == 6).sources["sale"]
        hows.add(told.how.partition(" ")[0] if "by tasks" in told.how else "")
        wanted = table.refresh().scan().to_arrow().to_pylist()
        assert sorted(pipeline["sale"]) == sorted(tuple(row.values()) for row in wanted)
    assert hows == {"loaded,", "files", "compared,"}
    pipeline.close()
