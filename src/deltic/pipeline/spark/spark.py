"""Deltic's use of Spark: types, a session of its own, DataFrames from and to Arrow."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.engine.executors.spark.job_descriptions import is_connect
from deltic.errors import CatalogError, DataError, DelticError, Diagnostic
from deltic.extras import required
from deltic.passwords import redacted_reason
from deltic.values import from_arrow
from deltic.values.types import Schema, Type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


# Up to so many bytes a table is part of the plan of its DataFrame, where Spark knows its rows before it runs.
_SMALL = 1 << 18
# Above so many bytes Spark takes a table apart into partitions, instead of making it part of a plan.
_IN_PLANS = "spark.sql.execution.arrow.localRelationThreshold"


def to_dataframe(spark: SparkSession, table: pa.Table, directory: Path | None = None, small: int = _SMALL) -> DataFrame:
    """Return an Arrow table as a DataFrame, whose types are what `spark_type` says.

    Up to `small` bytes are part of the plan; more go through a file in a directory, if there is one that executors
    see, and through the memory of the driver otherwise. Raises DelticError where the file cannot be written.
    """
    from pyspark.sql.functions import col, make_ym_interval
    from pyspark.sql.types import StructField, StructType

    from deltic.pipeline.spark.files import through_file
    from deltic.values.types.spark import spark_type

    schema = Schema.of_arrow(table.schema)
    months = [c.name for c in schema if c.type is Type.YEAR_MONTH_INTERVAL]
    travelling = [Type.INT32 if c.name in months else c.type for c in schema]
    fields = [StructField(c.name, spark_type(type_), c.nullable) for c, type_ in zip(schema, travelling, strict=True)]
    rows, types = for_spark(table), StructType(fields)
    if directory is not None and rows.nbytes > small:
        frame = through_file(spark, rows, types, directory)
    else:
        with _plans_up_to(spark, small):
            frame = spark.createDataFrame(_without_empty_chunks(rows), types)
    return _with_columns(frame, {name: make_ym_interval(months=col(quoted(name))) for name in months})


def _without_empty_chunks(table: pa.Table) -> pa.Table:
    """Return the table; Spark takes one for empty whose first chunk is, where it makes the rows part of a plan."""

    return pa.Table.from_batches([batch for batch in table.to_batches() if batch.num_rows], table.schema)


def _with_columns(frame: DataFrame, columns: dict[str, Column]) -> DataFrame:
    """Replace columns. `withColumns` would take the name `net.price` of another column for a field of `net`."""
    from pyspark.sql.functions import col

    if not columns:
        return frame
    return frame.select(*(columns.get(name, col(quoted(name))).alias(name) for name in frame.columns))


@contextmanager
def _plans_up_to(spark: SparkSession, small: int) -> Iterator[None]:
    """Let Spark make no larger tables part of a plan in this block."""
    before = spark.conf.get(_IN_PLANS, None)
    spark.conf.set(_IN_PLANS, str(small))
    try:
        yield
    finally:
        spark.conf.unset(_IN_PLANS) if before is None else spark.conf.set(_IN_PLANS, before)


def reading_job(table: str) -> str:
    """Return what Spark's pages call a job that reads a DataFrame for a table."""
    return f"Deltic: rows of a DataFrame into {table}"


def from_dataframe(frame: DataFrame, table: str) -> pa.Table:
    """Return a DataFrame as an Arrow table; intervals from years to months are numbers of months there.

    Raises DataError where Spark fails, and DelticError where it has no executors.
    """
    from deltic.engine.executors.spark.job import collected

    with spark_errors(partial(failed_rows, table)):
        return collected(with_months(frame), reading_job(table))


def with_months(frame: DataFrame) -> DataFrame:
    """Return the DataFrame with numbers of months in place of intervals from years to months."""
    from pyspark.sql.functions import col
    from pyspark.sql.types import YearMonthIntervalType

    months = [f.name for f in frame.schema if isinstance(f.dataType, YearMonthIntervalType)]
    return _with_columns(frame, {name: col(quoted(name)).cast("interval month").cast("int") for name in months})


def arrow_schema_of(frame: DataFrame) -> pa.Schema:
    """Return the columns of a DataFrame with Arrow's types, found without a job; UnsupportedError for a type without
    any.
    """

    from deltic.values.types.spark import type_of_spark

    return pa.schema([pa.field(f.name, type_of_spark(f.dataType).arrow, f.nullable) for f in frame.schema])


def for_spark(table: pa.Table) -> pa.Table:
    """Return the table in the types that Spark has: unsigned integers in wider ones, intervals of months as their
    number.
    """

    from deltic.values.types.arrow import type_of_arrow
    from deltic.values.types.spark import spark_type, type_of_spark

    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        type_ = type_of_arrow(field.type)
        if type_ is Type.YEAR_MONTH_INTERVAL:
            columns.append(pa.array(from_arrow(column, type_), pa.int32()))
        else:
            columns.append(column.cast(type_of_spark(spark_type(type_)).arrow))
    return pa.table(columns, names=table.column_names)


def quoted(name: str) -> str:
    """Return a column's name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


_PART = r"(?:`(?:[^`]|``)+`|[^`.]+)"


def quoted_table(name: str) -> str:
    """Return a table's name in Spark SQL, with each part in backticks: `shop-1.sale` has two parts.

    Raises CatalogError if it is no name.
    """
    if not re.fullmatch(rf"{_PART}(?:\.{_PART})*", name):
        hint = "write parts with dots between them, and a part that has a dot or a backtick as `a.b` or `a``b`"
        raise CatalogError(f"{name!r} is no name of a table; {hint}")
    return ".".join(part if part.startswith("`") else quoted(part.strip()) for part in re.findall(_PART, name))


def adopt_session(spark: SparkSession | None) -> None:
    """Let Spark's Python processes on this machine be of this process's Python, unless another one is named.

    Raises DelticError if it is no Spark session, such as a master's address.
    """
    if spark is not None and not hasattr(spark, "createDataFrame"):
        hint = f'.master("{spark}")' if isinstance(spark, str) else ""
        raise DelticError(
            f"expected a SparkSession, found {spark!r}: deltic.Pipeline(SparkSession.builder{hint}.getOrCreate()), "
            "or deltic.Pipeline() to run without Spark"
        )
    if spark is None or is_connect(spark) or "PYSPARK_PYTHON" in os.environ:
        return
    context = spark.sparkContext
    if (context.master or "").startswith("local") and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


def active_session(spark: SparkSession | None) -> SparkSession:
    """Return the session given, or the one that is active; raises DelticError when there is neither."""
    if spark is not None:
        return spark
    active: SparkSession | None = required("pyspark.sql", "a Spark DataFrame").SparkSession.getActiveSession()
    if active is None:
        raise DelticError("there is no Spark session: start one, or give it to deltic.Pipeline(spark)")
    return active


@contextmanager
def spark_errors(error: Callable[[str], DelticError]) -> Iterator[None]:
    """Turns what Spark raises into an error of Deltic, made of its first cause in one line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from deltic.engine.executors.spark.job import reason_of, shown_trace

    try:
        yield
    except (PySparkException, Py4JError) as failure:
        raise error(redacted_reason(reason_of(str(failure)))) from shown_trace(failure)


def failed_rows(table: str, reason: str) -> DataError:
    """Return the error for a DataFrame whose rows Spark cannot compute."""
    hint = "Spark fails in the same way without Deltic: correct what it reads, and try again; nothing was changed"
    return DataError([Diagnostic(f"table {table}: Spark cannot compute the rows: {reason}", hint=hint)])


def is_dataframe(value: Any) -> bool:
    """Return whether a value is a Spark DataFrame; pyspark is not imported to find out. A Column has any attribute."""
    return type(value).__module__.startswith("pyspark.sql") and hasattr(type(value), "toArrow")
