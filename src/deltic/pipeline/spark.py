"""What Deltic asks of Spark: types, a session of its own, DataFrames from and to Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deltic.circuit.types import Schema, Type
from deltic.engine.protocol import WEIGHT
from deltic.errors import DelticError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Spark has no unsigned integers: they travel as decimals of 20 digits, both ways.
SQL_TYPES = {
    Type.INT64: "bigint",
    Type.UINT64: "decimal(20,0)",
    Type.FLOAT64: "double",
    Type.STRING: "string",
    Type.BOOLEAN: "boolean",
    Type.DATE: "date",
    Type.TIMESTAMP_NTZ: "timestamp_ntz",
}


def sql_schema(schema: Schema, signed: bool) -> str:
    """The columns as Spark's DDL; with the weights when `signed`."""
    columns = [f"{quoted(column.name)} {SQL_TYPES[column.type]}" for column in schema]
    return ", ".join([*columns, f"{WEIGHT} bigint"] if signed else columns)


def quoted(name: str) -> str:
    """A column's name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def with_decimals(table: pa.Table) -> pa.Table:
    """The table with its unsigned columns as Spark can take them."""
    import pyarrow as pa

    fields = [f.with_type(pa.decimal128(20, 0)) if pa.types.is_uint64(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def to_dataframe(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame."""
    return spark.createDataFrame(with_decimals(table))


def check_session(spark: object) -> None:
    """Raises DelticError for what is no Spark session, such as a master's address."""
    if spark is not None and not hasattr(spark, "createDataFrame"):
        hint = f'.master("{spark}")' if isinstance(spark, str) else ""
        raise DelticError(
            f"expected a SparkSession, found {spark!r}: deltic.Pipeline(SparkSession.builder{hint}.getOrCreate()), "
            "or deltic.Pipeline() to run without Spark"
        )


def active_session(spark: SparkSession | None) -> SparkSession:
    """The session given, or the one that is active; raises DelticError when there is neither."""
    if spark is not None:
        return spark
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None:
        raise DelticError("to_spark() needs a Spark session: start one, or give it to deltic.Pipeline(spark)")
    return active


@contextmanager
def spark_errors(error: Callable[[str], DelticError]) -> Iterator[None]:
    """Turns what Spark raises into an error of Deltic, made of the first line of its reason."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as failure:
        raise error(str(failure).strip().splitlines()[0]) from failure


def is_dataframe(value: Any) -> bool:
    """Whether a value is a Spark DataFrame; pyspark is not imported to find out."""
    return type(value).__module__.startswith("pyspark.sql") and hasattr(value, "toArrow")
