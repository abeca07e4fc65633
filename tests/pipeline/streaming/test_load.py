"""A view that is followed while another process commits as fast as it can, and keeps little.

Catches a query that stops since the log was cut before its sink was done, and changes that are lost or doubled by what
it goes on with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise

import pytest

import deltic

EPOCHS = 20
BATCHES, PATIENCE = 4, 300
WRITER = f"""
import os, random, sys, time
from deltic import Durability, Pipeline, Transactions

transactions, durability = Transactions(conflicts="normalize"), Durability(epochs={EPOCHS}, keep=1)
with Pipeline(state=sys.argv[1], transactions=transactions, durability=durability) as pipeline:
    pipeline.sql('''
        CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price BIGINT);
        CREATE VIEW takings AS SELECT shop, sum(price) AS total, count(*) AS n FROM sale GROUP BY shop
    ''')
    print("begun", flush=True)
    rng, end = random.Random(7), time.monotonic() + {PATIENCE}
    while time.monotonic() < end and not os.path.exists(sys.argv[2]):
        with pipeline.transaction() as change:
            change.upsert("sale", [(rng.randrange(500), rng.randrange(50), rng.randrange(9)) for _ in range(5)])
            change.delete("sale", [(rng.randrange(500),)])
"""


@pytest.mark.slow
def test_a_slow_query_beside_a_fast_writer(spark, tmp_path):
    deltic.register(spark)
    place, stop, sums, batches = str(tmp_path / "state"), tmp_path / "stop", Counter(), []

    def take(frame, _):
        for row in frame.toArrow().to_pylist():
            sums[row["shop"], row["total"], row["n"]] += row["__weight__"]
        time.sleep(2)
        batches.append(len(batches))
        if len(batches) == BATCHES:
            stop.touch()

    command = [sys.executable, "-c", WRITER, place, str(stop)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"begun\n"
        stream = spark.readStream.format("deltic").option("view", "takings").option("form", "weight").load(place)
        query = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "query")).start()
        assert writer.wait(PATIENCE + 60) == 0
    query.processAllAvailable()
    done = [each["sources"][0]["endOffset"] for each in query.recentProgress if each["numInputRows"]]
    query.stop()
    reached = [json.loads(offset)["epoch"] for offset in done]
    with deltic.Pipeline(state=place, durability=deltic.Durability(readonly=True)) as pipeline:
        assert {row: weight for row, weight in sums.items() if weight} == dict.fromkeys(pipeline["takings"], 1)
        assert reached[-1] == pipeline.epoch
    gaps = [after - before for before, after in pairwise(reached)]
    assert max(gaps) > 3 * EPOCHS, f"the log held all that the query needed: {reached}"
