"""Tables and targets at `s3://`, on servers of this machine that speak as S3 does.

Catches an address that is taken for a path, and changes of files that are not seen. `scripts/s3-servers` installs the
servers.
"""

from __future__ import annotations

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic.engine.files import object_store
from deltic.engine.files.address import files_at
from deltic.errors import DataError, DelticError
from tests import s3

pytestmark = pytest.mark.slow
SALES = "CREATE VIEW takings AS SELECT shop, sum(price) AS total FROM sale GROUP BY shop"


@pytest.fixture(params=s3.KINDS)
def bucket(request, tmp_path, monkeypatch):
    """A file system, and the name of a bucket there."""
    made = s3.Server(request.param, tmp_path / "objects")
    s3.use(monkeypatch, made.port)
    yield object_store.file_system(f"s3://{s3.BUCKET}")[0], s3.BUCKET
    made.kill()


def put(bucket, name, table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    bucket[0].pipe_file(f"{bucket[1]}/{name}", sink.getvalue())


def told(pipeline, name):
    return sorted(pipeline[name])


def test_a_folder_of_parquet_files(bucket):
    system, name = bucket
    put(bucket, "sale/day=1/a.parquet", pa.table({"shop": ["north", "south"], "price": [3, 5]}))
    pipeline = deltic.Pipeline()
    pipeline.table("sale", source=f"s3://{name}/sale")
    pipeline.sql(SALES)
    assert pipeline.refresh().sources["sale"].files_read == 1
    assert told(pipeline, "takings") == [("north", 3), ("south", 5)]
    put(bucket, "sale/day=2/b.parquet", pa.table({"shop": ["north"], "price": [4]}))
    assert pipeline.pending()["sale"].startswith("1 file to read")
    pipeline.refresh()
    assert told(pipeline, "takings") == [("north", 7), ("south", 5)]
    put(bucket, "sale/day=1/a.parquet", pa.table({"shop": ["south"], "price": [1]}))
    system.rm(f"{name}/sale/day=2/b.parquet")
    assert str(pipeline.refresh().sources["sale"]).startswith("1 file read, 2 taken back")
    assert told(pipeline, "takings") == [("south", 1)]
    assert pipeline.refresh().sources["sale"].how == "no file changed"


def test_errors_name_the_address(bucket):
    system, name = bucket
    system.pipe_file(f"{name}/sale/a.csv", b"north,3\nsouth,many\n")
    pipeline = deltic.Pipeline()
    csv = deltic.External("csv", path=f"s3://{name}/sale")
    pipeline.table("sale", {"shop": "string", "price": "int64"}, source=csv)
    pipeline.sql(SALES)
    with pytest.raises(DataError, match=rf"s3://{name}/sale/a\.csv:2"):
        pipeline.refresh()
    pipeline.attach("sale", deltic.External("csv", path=f"s3://{name}/nothing"))
    with pytest.raises(DataError, match=rf"s3://{name}/nothing: it cannot be read: there is no such folder"):
        pipeline.refresh()
    with pytest.raises(DelticError, match="publish a Delta table there"):
        pipeline.publish("takings", f"s3://{name}/out")


def test_delta_tables_in_and_out(bucket):
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    _, name = bucket
    source, target = f"s3://{name}/sale", f"s3://{name}/takings"
    deltalake.write_deltalake(source, pa.table({"shop": ["north", "south"], "price": [3, 5]}))
    pipeline = deltic.Pipeline()
    pipeline.table("sale", source=source)
    pipeline.sql(SALES)
    pipeline.publish("takings", deltic.External("delta", path=target, rows=1))
    pipeline.refresh()
    deltalake.write_deltalake(source, pa.table({"shop": ["north"], "price": [4]}), mode="append")
    report = pipeline.refresh()
    assert report.sources["sale"].rows_read == 1
    assert sorted(pa.table(deltalake.DeltaTable(target).scan()).to_pylist(), key=str) == [
        {"shop": "north", "total": 7},
        {"shop": "south", "total": 5},
    ]
    (written,) = report.published.values()
    assert (written.how, written.files) == ("changed files", 1)
    assert pipeline.refresh().published[f"takings to delta {target} 1"].how == "nothing was new"


def test_blocks_are_what_the_file_has(bucket):
    files, rng = files_at(f"s3://{bucket[1]}/runs"), random.Random(3)
    data = rng.randbytes(3_000_000)
    files.write("a/one", [data])
    opened = files.open("a/one")
    for _ in range(20):
        start = rng.randrange(len(data))
        end = start + rng.randrange(400_000)
        assert bytes(opened.part(start, end)) == data[start:end]
    other = files.below("b")
    other.adopt(files, "a/one", "two")
    assert files.read("b/two") == data
    other.clear()
    assert files.names("b") == []
    assert files.names("a") == ["a/one"]
