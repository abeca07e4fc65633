"""Tables over Delta tables: by the change data feed, by files, or compared.

Catches a commit that is read twice or not at all, rows of files that a later version has rewritten, and a table that
was made anew, or vacuumed, and is taken for the one of before.
"""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import deltic
from deltic import External

deltalake = pytest.importorskip("deltalake")
SCHEMA = pa.schema([("id", pa.int64()), ("shop", pa.string()), ("price", pa.int64())])


def rows(rng, count):
    shops = [f"s{rng.randrange(5)}" for _ in range(count)]
    ids = [rng.randrange(100) for _ in range(count)]
    return pa.table({"id": ids, "shop": shops, "price": [rng.randrange(9) for _ in range(count)]}, schema=SCHEMA)


def change(path, rng):
    table = deltalake.DeltaTable(path)
    match rng.choice(["append", "append", "delete", "update", "overwrite", "optimize"]):
        case "append":
            deltalake.write_deltalake(path, rows(rng, rng.choice((1, 20))), mode="append")
        case "delete":
            table.delete(f"id % 7 = {rng.randrange(7)}")
        case "update":
            table.update(updates={"price": "price + 1"}, predicate=f"id = {rng.randrange(100)}")
        case "overwrite":
            deltalake.write_deltalake(path, rows(rng, 30), mode="overwrite")
        case "optimize":
            table.optimize.compact()


def contents(path):
    found = pa.table(deltalake.DeltaTable(path).scan()).select(SCHEMA.names).to_pylist()
    return Counter(tuple(row.values()) for row in found)


@pytest.mark.parametrize("feed", [True, False])
@pytest.mark.parametrize("partitions", [None, ["shop"]])
def test_random_commits(tmp_path, feed, partitions):
    rng, path = random.Random(f"{feed} {partitions}"), str(tmp_path / "orders")
    settings = {"delta.enableChangeDataFeed": str(feed).lower()}
    deltalake.write_deltalake(path, rows(rng, 60), partition_by=partitions, configuration=settings)
    hows, pipeline = set(), deltic.Pipeline(state=tmp_path / "state")
    pipeline.define(f"CREATE TABLE orders USING delta LOCATION '{path}'", "sql")
    for step in range(12):
        hows.add(pipeline.refresh().sources["orders"].how.partition(" of ")[0])
        assert Counter(pipeline["orders"]) == contents(path)
        for _ in range(rng.choice((0, 1, 3))):
            change(path, rng)
        if step == 6:
            pipeline.close()
            pipeline = deltic.Pipeline(state=tmp_path / "state")
    assert hows == {"compared", "no version", "change feed" if feed else "files"}
    pipeline.close()


@pytest.mark.parametrize("feed", [True, False])
def test_a_version_is_opened_once(tmp_path, monkeypatch, feed):
    path, rng, opened, class_ = str(tmp_path / "orders"), random.Random(0), [], deltalake.DeltaTable
    deltalake.write_deltalake(path, rows(rng, 9), configuration={"delta.enableChangeDataFeed": str(feed).lower()})
    pipeline = deltic.Pipeline()
    pipeline.table("orders", source=path)

    def counted(*args, **options):
        opened.append(options.get("version"))
        return class_(*args, **options)

    monkeypatch.setattr(deltalake, "DeltaTable", counted)
    pipeline.refresh()
    assert opened == [None]
    class_(path).delete("id % 2 = 0")
    pipeline.refresh()
    assert opened == ([None] * 2 if feed else [None, None, 0])
    assert Counter(pipeline["orders"]) == contents(path)


def test_files_that_are_gone_are_made_good(tmp_path):
    path, rng = str(tmp_path / "orders"), random.Random(0)
    deltalake.write_deltalake(path, rows(rng, 60))
    pipeline = deltic.Pipeline()
    pipeline.table("orders", source=path)
    pipeline.refresh()
    deltalake.write_deltalake(path, rows(rng, 9), mode="overwrite")
    deltalake.DeltaTable(path).vacuum(0, enforce_retention_duration=False, dry_run=False)
    told = pipeline.refresh().sources["orders"].how
    assert told.startswith("compared: the files of version 0 to 3 cannot be read: "), told
    assert Counter(pipeline["orders"]) == contents(path)


def test_a_table_made_anew_is_another_one(tmp_path):
    rng, paths = random.Random(0), [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        deltalake.write_deltalake(path, rows(rng, 9))
        deltalake.write_deltalake(path, rows(rng, 9), mode="append")
    (tmp_path / "now").symlink_to(paths[0])
    pipeline = deltic.Pipeline()
    pipeline.table("orders", source=External("delta", path=tmp_path / "now"))
    pipeline.refresh()
    (tmp_path / "now").unlink()
    (tmp_path / "now").symlink_to(paths[1])
    assert pipeline.refresh().sources["orders"].how == "compared: the table is another one"
    assert Counter(pipeline["orders"]) == contents(paths[1])
