"""Views as streams of Spark, and their changes as records of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deltic.circuit.tables import WEIGHT
from deltic.engine.files.address import absolute
from deltic.errors import StreamError
from deltic.extras import required
from deltic.pipeline.names import find
from deltic.pipeline.spark.spark import active_session, adopt_session, quoted, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltic.pipeline.reading.reading import View

_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def register(spark: SparkSession) -> None:
    """Register the data source "deltic" with a session; raises DelticError where pyspark is not installed."""
    required("pyspark.sql", 'the data source "deltic"')
    from deltic.pipeline.following.source import DelticSource

    adopt_session(spark)
    spark.dataSource.register(DelticSource)


def changes_stream(
    view: View,
    since: int | None = None,
    form: Literal["weight", "feed"] = "weight",
    max_rows: int | None = None,
    functions: str | Path | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """Return a view of a pipeline with `state=` as a streaming DataFrame: its rows, then its changes in each epoch.

    With `since`, the changes of later epochs alone. The column `__weight__` is the multiplicity of an insertion, or
    negative for a deletion; the form "feed" has `_change_type` (insert, delete) and `_commit_version`, the epoch,
    instead, as in Delta's change data feed. A batch has epochs that change up to `max_rows` rows of tables, or all new
    ones. `functions` is the file of those that definitions call. Spark's own processes read the directory; the pipeline
    may be in another process.

    A query that is slower than the writer gets several epochs as one change. Raises StreamError for a pipeline in
    memory or a table; a restarted query raises it for epochs that are no longer retained.
    """
    session = active_session(spark or view.spark)
    if view.place is None:
        raise StreamError(
            f"view {view.name}: Spark's processes read its changes from a directory, and this pipeline is in memory "
            "(or closed, or it is the view of a snapshot): take that of a pipeline with state=DIRECTORY"
        )
    register(session)
    place = absolute(view.place)
    given = {"view": view.name, "form": form, "since": since, "maxRowsPerTrigger": max_rows, "functions": functions}
    reader = session.readStream.format("deltic")
    for name, value in given.items():
        if value is not None:
            reader = reader.option(name, str(value))
    with spark_errors(partial(_unread, view.name)):
        return reader.load(place)


def _unread(view: str, reason: str) -> StreamError:
    """Return the error for a view that Spark's processes cannot read."""
    from deltic.engine.executors.spark.job import NEEDED

    hint = ""
    if "ModuleNotFoundError" in reason or "Failed to create Python data source instance" in reason:
        hint = f"; {NEEDED}"
    return StreamError(f"view {view}: Spark's processes cannot read it: {reason}{hint}")


def kafka_rows(changes: DataFrame, key: str | Sequence[str]) -> DataFrame:
    """Changes with weights as records for Spark's Kafka sink: columns `key` and `value`, both JSON.

    The value is an envelope of Debezium: an inserted row is `after` with the op c, a deleted one `before` with d. The
    columns `key` are the record's key, so that changes of one key share a partition.
    """
    from pyspark.sql import functions as F

    columns = {name: F.col(quoted(name)) for name in changes.columns if name != WEIGHT}
    if WEIGHT not in changes.columns:
        raise StreamError(f"expected changes with a column {WEIGHT}, found {', '.join(changes.columns)}")
    keys = [find(name, "column", columns) for name in ([key] if isinstance(key, str) else key)]
    comes, row = F.col(WEIGHT) > 0, F.struct(*columns.values())
    envelope = F.struct(
        F.when(~comes, row).alias("before"),
        F.when(comes, row).alias("after"),
        F.when(comes, "c").otherwise("d").alias("op"),
    )
    records = changes.select(
        F.to_json(F.struct(*keys), _JSON).alias("key"),
        F.to_json(envelope, _JSON).alias("value"),
        F.explode(F.array_repeat(F.lit(0), F.abs(WEIGHT).cast("int"))).alias("_"),
    )
    return records.drop("_")
