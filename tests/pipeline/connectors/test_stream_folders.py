"""Tables over a folder that a stream of Spark writes. Catches files of a batch that is not complete, or came twice."""

from __future__ import annotations

import json
import shutil

import pytest

import deltic
from deltic import External
from deltic.pipeline.spark.sink_log import complete_files


def entry(*names, action="add"):
    lines = [json.dumps({"path": f"file:///a%20b/{name}", "action": action}) for name in names]
    return "\n".join(["v1", *lines])


def test_entries_of_a_log():
    assert complete_files({}) == set()
    log = {"0": entry("a"), "1": entry("b", "c"), ".1.crc": "?", "2": entry()}
    assert complete_files(log) == {"a", "b", "c"}
    log |= {"9.compact": entry("a", "b", "c", "i"), "10": entry("day=1/j"), "8": entry("late")}
    assert complete_files(log) == {"a", "b", "c", "i", "j"}


@pytest.mark.slow
def test_a_folder_that_a_stream_writes(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    frame = spark.readStream.schema("id long, day int").option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    pipeline = deltic.Pipeline(state=tmp_path / "state")
    source = External("parquet", path=tmp_path / "out")
    pipeline.table("sale", {"id": "int64", "day": "int32"}, bag=True, source=source)
    for first in range(0, 24, 8):
        for n in range(first, first + 8):
            (tmp_path / "in" / f"{n}.json").write_text(json.dumps({"id": n, "day": n % 2}))
        writer = frame.writeStream.format("parquet").partitionBy("day").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.start().awaitTermination()
        written = sorted((tmp_path / "out").rglob("part-*.parquet"))
        shutil.copy(written[-1], written[-1].with_name(f"part-00000-killed{first}.parquet"))
        pipeline.refresh()
        assert sorted(pipeline["sale"]) == [(n, n % 2) for n in range(first + 8)]
        assert len(written) >= first + 8
    assert (tmp_path / "out/_spark_metadata/19.compact").exists()
    pipeline.close()
