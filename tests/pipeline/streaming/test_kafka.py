"""A broker of Kafka on loopback: its records into a table, and changes of a view into a topic and back.

Catches what a DataFrame of the same columns does not show: the types and the order of Spark's own source, and its sink.
The session has the connector's jars, and so is of another process.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.pipeline.streaming.broker import BROKER, broker, connector, jars

PROGRAM = """
import json, sys
import deltic
from pyspark.sql import SparkSession

root, address, connector = sys.argv[1:]
options = {"spark.jars": connector, "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
           "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "1",
           "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
builder = SparkSession.builder.master("local[1]")
for name, value in options.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()


def envelope(number):
    return json.dumps({"before": None, "after": {"id": number % 3, "n": number}, "op": "u"})


def records(topic):
    kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
    return kafka.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 10).load()


def drain(writer, name):
    query = writer.option("checkpointLocation", f"{root}/{name}").trigger(availableNow=True).start()
    query.awaitTermination()


rows = [(str(number % 3), envelope(number)) for number in range(30)]
sink = spark.createDataFrame(rows, "key string, value string").coalesce(1).write.format("kafka")
sink.option("kafka.bootstrap.servers", address).option("topic", "stock").save()

with deltic.Pipeline(spark, state=f"{root}/state") as pipeline:
    pipeline.table("stock", {"id": "int64", "n": "int64"}, key="id")
    pipeline.sql("CREATE VIEW big AS SELECT id, n FROM stock WHERE n >= 28")
    drain(pipeline.stream(records("stock"), into="stock"), "in")
    out = deltic.kafka_rows(deltic.changes_stream(pipeline["big"]), key="id").writeStream.format("kafka")
    out = out.option("kafka.bootstrap.servers", address).option("topic", "big")
    drain(out, "out")
    with pipeline.transaction() as change:
        change.delete("stock", [(1,)])
    drain(out, "out")
    other = deltic.Pipeline(spark)
    other.table("big", {"id": "int64", "n": "int64"})
    drain(other.stream(records("big"), into="big"), "back")
    print("found", json.dumps([sorted(pipeline["stock"]), sorted(other["big"]), pipeline.epoch]))
"""


@pytest.mark.slow
@pytest.mark.spark
def test_records_in_and_changes_out(tmp_path):
    try:
        jars(BROKER), connector()
    except RuntimeError as error:
        pytest.skip(f"no broker to be had: {error}")
    with broker(tmp_path) as address:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), address, connector()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (told,) = (line for line in done.stdout.splitlines() if line.startswith("found "))
    assert json.loads(told.removeprefix("found ")) == [[[0, 27], [2, 29]], [[2, 29]], 4]
