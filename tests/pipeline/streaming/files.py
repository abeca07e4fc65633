"""Streams of files of JSON lines, and queries that read all that is there."""

from __future__ import annotations

import json
import os
from pathlib import Path


class Folder:
    """A folder whose files a stream reads in the order in which they were put there, with a checkpoint beside it."""

    def __init__(self, root: Path, schema: str) -> None:
        self.root, self.schema, self.count = root, schema, 0
        self.checkpoint = str(root / "checkpoint")
        (root / "in").mkdir(parents=True)

    def put(self, *rows: dict) -> None:
        """One more file."""
        self.count += 1
        part = self.root / "part"
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark takes files by their times, which are those of milliseconds at best.
        os.utime(part, (1_700_000_000 + self.count,) * 2)
        part.rename(self.root / "in" / f"{self.count:05}.json")

    def frame(self, spark, files_per_batch=1):
        stream = spark.readStream.schema(self.schema).option("maxFilesPerTrigger", files_per_batch)
        return stream.json(str(self.root / "in"))

    def drain(self, writer) -> None:
        """Run a query until it has read all."""
        self.start(writer).awaitTermination()

    def start(self, writer):
        return writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()

    def forget_commit(self, batch: int) -> None:
        """Be as after a crash between the epoch of a batch and Spark's own note of it."""
        for name in (f"{batch}", f".{batch}.crc"):
            (Path(self.checkpoint) / "commits" / name).unlink(missing_ok=True)
