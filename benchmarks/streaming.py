"""Streams of Spark into a table with two views: changes per second, and how old a change is when the views have it.

`python benchmarks/streaming.py [--seconds N]`. Files of changes come ten times a second, each with rows that come and
the rows of an earlier file, which go. The age of a change is the time from its file to the end of the batch. Beside
each stands the same stream with nothing in `foreachBatch` but a job that reads the rows: what Spark takes without
Deltic. All that is put before the query starts, and read as fast as can be, gives the changes per second.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import report

import deltic
from deltic.pipeline.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, shop INT NOT NULL, price INT NOT NULL);
    CREATE VIEW takings AS SELECT shop, count(*) AS n, sum(price) AS total FROM sale GROUP BY shop;
    CREATE VIEW dear AS SELECT id, shop FROM sale WHERE price > 990
"""
SHOPS, PERIOD, STAY = 1000, 0.1, 10
Start = Callable[["DataFrame", Path], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=40)
    seconds = parser.parse_args().seconds
    with spark_session("local[2]") as spark:
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")
        list(offered(spark, 1_000, 5))  # loads and compiles what the others use
        rows = [line for rate in (1_000, 10_000, 50_000) for line in offered(spark, rate, seconds)]
        rows += saturated(spark, changes=20_000, files=30)
        rows += saturated(spark, changes=200_000, files=20)
    header = ["offered changes/s", "", "batches", "changes/batch", "changes/s", "p50 ms", "p95 ms", "p99 ms"]
    notes = (
        "Ages of changes when the views have them, but for the first quarter. The lines of `all`: what is there is\n"
        "read, a file to a batch, and the percentiles are those of the time of a batch. Deltic keeps its state in a\n"
        "directory."
    )
    report("streaming", "Streams of Spark into a table with two views", header, rows, notes)


def offered(spark: SparkSession, rate: int, seconds: float) -> Iterator[list[str]]:
    """Changes at a rate, with and without Deltic."""
    per_file = int(rate * PERIOD)
    for name, start in KINDS.items():
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            put: list[float] = []
            query = start(stream(spark, root), root)
            feeder = threading.Thread(target=feed, args=(root, per_file, seconds, put))
            feeder.start()
            feeder.join()
            query.processAllAvailable()
            batches = batches_of(query, per_file)
            query.stop()
        ages = np.array([end - put[file] for first, last, end in batches for file in range(first, last)])
        ages = ages[len(ages) // 4 :] * 1000
        done = len(put) * per_file / (batches[-1][2] - put[0])
        percentiles = [f"{np.percentile(ages, p):,.0f}" for p in (50, 95, 99)]
        per_batch = len(put) * per_file / len(batches)
        yield [f"{rate:,}", name, f"{len(batches)}", f"{per_batch:,.0f}", f"{done:,.0f}", *percentiles]


def saturated(spark: SparkSession, changes: int, files: int) -> Iterator[list[str]]:
    """As many changes as can be applied, in batches of one size."""
    for name, start in KINDS.items():
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            for number in range(files):
                write(root, number, changes)
            query = start(stream(spark, root, 1), root)
            query.processAllAvailable()
            ends = [end for _, _, end in batches_of(query, changes)]
            query.stop()
        # The first batches load what the later ones use.
        seconds = np.array([after - before for before, after in pairwise(ends[files // 4 :])])
        rate = changes / seconds.mean()
        percentiles = [f"{np.percentile(seconds, p) * 1000:,.0f}" for p in (50, 95, 99)]
        yield ["all", name, f"{len(ends)}", f"{changes:,}", f"{rate:,.0f}", *percentiles]


def stream(spark: SparkSession, root: Path, files: int | None = None) -> DataFrame:
    """The files of a folder."""
    (root / "in").mkdir(exist_ok=True)
    reader = spark.readStream.schema("id bigint, shop int, price int, op string")
    return (reader if files is None else reader.option("maxFilesPerTrigger", files)).parquet(str(root / "in"))


def with_deltic(frame: DataFrame, root: Path) -> Any:
    """A query that applies the changes."""
    pipeline = deltic.Pipeline(state=root / "state")
    pipeline.sql(PROGRAM)
    return pipeline.stream(frame, into="sale").option("checkpointLocation", str(root / "checkpoint")).start()


def with_nothing(frame: DataFrame, root: Path) -> Any:
    """A query that reads the changes."""
    writer = frame.writeStream.foreachBatch(lambda batch, _: batch.write.format("noop").mode("append").save())
    return writer.option("checkpointLocation", str(root / "checkpoint")).start()


KINDS: dict[str, Start] = {"Deltic": with_deltic, "nothing": with_nothing}


def feed(root: Path, changes: int, seconds: float, put: list[float]) -> None:
    """Put files, as often as the period says, and note when."""
    started = time.time()
    for number in range(int(seconds / PERIOD)):
        time.sleep(max(0.0, started + number * PERIOD - time.time()))
        write(root, number, changes)
        put.append(time.time())


def write(root: Path, number: int, changes: int) -> None:
    """One file: half of its rows come, the others are of an earlier file and go, once there are such."""
    tables = [sales(number, changes // 2 if number >= STAY else changes, "+")]
    if number >= STAY:
        tables.append(sales(number - STAY, changes // 2, "-"))
    part = root / f"{number}.part"
    (root / "in").mkdir(exist_ok=True)
    pq.write_table(pa.concat_tables(tables), part)
    part.rename(root / "in" / f"{number:06}.parquet")


def sales(number: int, count: int, op: str) -> pa.Table:
    """The first rows of a file that come, with a sign."""
    ids = np.arange(count, dtype=np.int64) + number * 10_000_000
    return pa.table(
        {
            "id": ids,
            "shop": (ids * 7919 % SHOPS).astype(np.int32),
            "price": (ids * 104729 % 1000).astype(np.int32),
            "op": pa.array([op] * count, pa.string()),
        }
    )


def batches_of(query: Any, per_file: int) -> list[tuple[int, int, float]]:
    """Each batch: its files, from which one up to which, and when it ended."""
    found, files = [], 0
    for progress in query.recentProgress:
        if progress["numInputRows"]:
            began = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()
            count = progress["numInputRows"] // per_file
            found.append((files, files + count, began + progress["durationMs"]["triggerExecution"] / 1000))
            files += count
    return found


if __name__ == "__main__":
    main()
