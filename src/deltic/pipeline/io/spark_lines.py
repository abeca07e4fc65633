"""The lines of text files as a DataFrame in which every line has an address, from which its number can be told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark cuts files into blocks and reads the blocks of a partition one after the other, line by line. So the ids that
# `monotonically_increasing_id` gives to the lines of one block, before any filter, are consecutive.
PATH, BLOCK, LINE_ID = "path", "block", "line_id"


def spark_path(path: Path) -> str:
    """A local path as Spark takes it for writing."""
    return f"file://{path.resolve()}"


def spark_pattern(path: Path) -> str:
    """A local path as Spark takes it for reading, where *, [ and their like would make a pattern of it."""
    return "".join("\\" + c if c in "*?[]{}\\" else c for c in spark_path(path))


def scan(spark: SparkSession, paths: Sequence[Path]) -> DataFrame:
    """Columns: value (a line, without its newline), path (encoded as a URI), block, line_id."""
    from pyspark.sql import functions as f

    lines = spark.read.option("lineSep", "\n").text([spark_pattern(path) for path in paths])
    return lines.select(
        "value",
        f.col("_metadata.file_path").alias(PATH),
        f.col("_metadata.file_block_start").alias(BLOCK),
        f.monotonically_increasing_id().alias(LINE_ID),
    )


def header_ids(lines: DataFrame) -> list[int]:
    """The ids of the first lines of the files."""
    from pyspark.sql import functions as f

    first = lines.where(f.col(BLOCK) == 0).groupBy(PATH).agg(f.min(LINE_ID).alias(LINE_ID))
    return [row[LINE_ID] for row in first.select(LINE_ID).collect()]


@dataclass(frozen=True)
class Numbering:
    """From the id of a line to the file and the line's number."""

    first_ids: list[int]
    """The id of the first line of each block, ascending."""
    places: list[tuple[int, int]]
    """For each block: the index of its file, and the number of its first line in that file."""

    def place(self, line_id: int) -> tuple[int, int]:
        """The index of the file, and the number of the line in it, from 1."""
        block = bisect_right(self.first_ids, line_id) - 1
        file, first_number = self.places[block]
        return file, first_number + line_id - self.first_ids[block]


def numbering(lines: DataFrame, paths: Sequence[Path]) -> Numbering:
    """One pass over the lines, which counts them."""
    from pyspark.sql import functions as f

    counts = lines.groupBy(PATH, BLOCK).agg(f.min(LINE_ID), f.count("*"))
    index = {str(path.resolve()): position for position, path in enumerate(paths)}
    found = {}
    previous, number = "", 1
    for path, _, first_id, count in sorted(tuple(row) for row in counts.collect()):
        number = number if path == previous else 1
        found[first_id] = index[_local(path)], number
        previous, number = path, number + count
    first_ids = sorted(found)
    return Numbering(first_ids, [found[first_id] for first_id in first_ids])


def _local(uri: str) -> str:
    return "/" + unquote(uri).removeprefix("file:").lstrip("/")
