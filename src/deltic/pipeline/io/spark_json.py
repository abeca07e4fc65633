"""Lines of JSON that Spark's tasks read and this process parses.

Spark's own reader of JSON takes a number for a symbol and cannot say where a line went wrong; parsing in Python
tasks would ask for Deltic on every worker. The rows end up in this process anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.pipeline.io.json_lines import parse_json_lines
from deltic.pipeline.io.layout import Layout
from deltic.pipeline.io.parsed import arrow_schema, concatenated
from deltic.pipeline.io.spark_lines import LINE_ID
from deltic.pipeline.io.utf8 import decode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def collect_rows(lines: DataFrame, layout: Layout) -> tuple[pa.Table, list[int]]:
    """The rows of the lines, and the LINE_ID of each malformed one."""
    tables, bad = [arrow_schema(layout.schema, layout.signed).empty_table()], list[int]()
    for batch in lines.select(lines["value"].cast("binary").alias("raw"), LINE_ID).toArrow().to_batches():
        parsed = parse_json_lines(decode(batch["raw"]), layout)
        tables.append(parsed.table)
        bad += batch[LINE_ID].take(pa.array(parsed.bad, pa.int64())).to_pylist()
    return concatenated(tables), bad
