"""Tables, targets and states at `s3://`, on a server of this machine that speaks as S3 does.

Catches an address that is taken for a path, changes of files that are not seen, and a state that two processes write.
They run where moto, s3fs and deltalake are installed: `pip install 'moto[server,s3]' s3fs deltalake`.
"""

from __future__ import annotations

import io
import random
import socket
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic.engine.files.address import files_at
from deltic.errors import DataError, DelticError, StateError

pytestmark = pytest.mark.slow
SALES = "CREATE VIEW takings AS SELECT shop, sum(price) AS total FROM sale GROUP BY shop"


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("moto.server", reason="moto is not installed: pip install 'moto[server,s3]'")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_port(port)
        with pytest.MonkeyPatch.context() as patch:
            told = {
                "AWS_ACCESS_KEY_ID": "me",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                "AWS_ALLOW_HTTP": "true",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            for name, value in told.items():
                patch.setenv(name, value)
            yield
    finally:
        started.kill()
        started.wait()


def await_port(port):
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the server does not listen")


@pytest.fixture
def bucket(server, request):
    import s3fs

    name = f"b{abs(hash(request.node.name)) % 10**9}"
    system = s3fs.S3FileSystem()
    system.mkdir(name)
    return system, name


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
    assert pipeline.pending()["sale"].startswith("1 files to read")
    pipeline.refresh()
    assert told(pipeline, "takings") == [("north", 7), ("south", 5)]
    put(bucket, "sale/day=1/a.parquet", pa.table({"shop": ["south"], "price": [1]}))
    system.rm(f"{name}/sale/day=2/b.parquet")
    assert str(pipeline.refresh().sources["sale"]).startswith("1 files read, 2 taken back")
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


def test_a_state(bucket):
    place = f"s3://{bucket[1]}/state"
    with deltic.Pipeline(state=place, durability=deltic.Durability(epochs=3)) as pipeline:
        pipeline.sql("CREATE TABLE sale (shop STRING, price BIGINT)")
        pipeline.sql(SALES)
        for n in range(8):
            with pipeline.transaction() as change:
                change.insert("sale", [(f"shop {n % 3}", n)])
        with pytest.raises(StateError, match="has it open for writing"):
            deltic.Pipeline(state=place)
        expected = told(pipeline, "takings")
    with deltic.Pipeline(state=place) as again:
        assert told(again, "takings") == expected
        with again.transaction() as change:
            change.insert("sale", [("shop 1", 100)])
        assert dict(again["takings"])["shop 1"] == dict(expected)["shop 1"] + 100


def test_of_several_who_create_a_file_one_does(bucket):
    files = files_at(f"s3://{bucket[1]}/state")
    files.create("lock", [b"one"])
    with pytest.raises(FileExistsError):
        files.create("lock", [b"two"])
    assert files.read("lock") == b"one"


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
