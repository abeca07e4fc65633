"""Ask Spark for what expressions mean: `TZ=UTC python -m tests.sql.scalars.ask_spark`, in UTC and ANSI mode.

Writes spark.jsonl, one line of [expression, type, value] for each line of expressions.txt; the type is ERR and the
value the class of the error for what Spark refuses. Writes calls.jsonl, one line of [call, type, rows] for each line
of calls.txt: rows of values of the columns that the call reads, and behind them the call's value, or {"error": class}.
Calls that calls.jsonl has keep their rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.values import to_arrow
from tests.sql.scalars.calls import CALLS, COLUMNS, columns_of, rows_for

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
ROWS = 24
OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}


def expressions() -> list[str]:
    """The expressions, each once."""
    return list(dict.fromkeys((HERE / "expressions.txt").read_text().splitlines()))


def in_order_of_keys(value: Any) -> Any:
    """A value with its dicts in the order of keys: PySpark hands over no other order."""
    if isinstance(value, list):
        return [in_order_of_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: in_order_of_keys(value[key]) for key in sorted(value, key=repr)}


def answers(spark: SparkSession) -> Iterator[list[str]]:
    """What Spark says of each expression; nothing of intervals of months, which PySpark cannot show."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    for expression in expressions():
        try:
            rows = spark.sql(f"SELECT {expression} AS r")
            value = in_order_of_keys(rows.collect()[0][0])
            yield [expression, rows.schema[0].dataType.simpleString(), repr(value)]
        except Py4JJavaError as error:  # PySpark does not translate all of Spark's own exceptions
            yield [expression, "ERR", error.java_exception.getCondition()]
        except PySparkException as error:
            kind = error.getCondition() or ""
            if kind != "NOT_IMPLEMENTED":
                yield [expression, "ERR", kind]


def called(spark: SparkSession, call: str, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """A call, the type of its value, and for each row its values and the call's; the class of the error for a type."""
    import pyarrow as pa
    from pyspark.errors import PySparkException

    columns = {name: to_arrow([row[i] for row in rows], COLUMNS[name][0]) for i, name in enumerate(columns_of(call))}
    table = pa.table({**columns, "row_number": pa.array(range(len(rows)))})
    try:
        frame = spark.createDataFrame(table).selectExpr("row_number", f"{call} AS r")
        values = _values(spark, table, call)
    except PySparkException as error:
        return [call, {"error": error.getCondition() or ""}, []]
    return [
        call,
        frame.schema["r"].dataType.simpleString(),
        [[*map(plain, row), values[i]] for i, row in enumerate(rows)],
    ]


def _values(spark: SparkSession, table: pa.Table, call: str) -> list[Any]:
    """The values of a call for rows; those of one row where no query is an error but for this row."""
    import pyarrow as pa
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    def select(rows: pa.Table) -> Any:
        return spark.createDataFrame(rows).selectExpr("row_number", f"{call} AS r")

    try:
        failures = _failures(spark, select, table)
        there = table.filter(pa.array([i not in failures for i in range(table.num_rows)], pa.bool_()))
        values = iter(_collected(select(there)) if there.num_rows else [])
        return [failures[i] if i in failures else next(values) for i in range(table.num_rows)]
    except (PySparkException, Py4JError, ValueError, OverflowError, TypeError) as error:
        if table.num_rows == 1:
            return [_error(error)]
    half = table.num_rows // 2
    return _values(spark, table.slice(0, half), call) + _values(spark, table.slice(half), call)


def _collected(frame: Any) -> list[Any]:
    """The values of a column, with YEAR for times that Python has not."""
    try:
        return [plain(row.r) for row in sorted(frame.collect(), key=lambda row: row.row_number)]
    except (ValueError, OverflowError):
        return [_readable(value) for value in frame.toArrow().sort_by("row_number").column("r")]


def _readable(value: Any) -> Any:
    try:
        return plain(value.as_py())
    except (ValueError, OverflowError) as error:
        return _error(error)


def _failures(spark: SparkSession, select: Callable[[pa.Table], Any], table: pa.Table) -> dict[int, Any]:
    """The errors of rows for Spark's interpreter, which takes less time than a query; none where it cannot be asked."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    failures: dict[int, Any] = {}
    project: Any = None
    plan: Any = None
    for i in range(table.num_rows):
        if project is None:  # an expression that failed may have kept a part of its state
            plan = select(table)._jdf.queryExecution().optimizedPlan()
            if plan.child().nodeName() != "LocalRelation":
                return {}
            project = _interpreter(spark)(plan.projectList(), plan.child().output())
        try:
            project.apply(plan.child().data().apply(i))
        except (PySparkException, Py4JError) as error:
            failures[i], project = _error(error), None
    return failures


def _interpreter(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection  # type: ignore[union-attr]


def _error(error: Exception) -> dict[str, str]:
    return {"error": getattr(error, "getCondition", lambda: None)() or ("" if _is_sparks(error) else "YEAR")}


def _is_sparks(error: Exception) -> bool:
    return type(error).__module__.startswith(("py4j", "pyspark"))


def plain(value: Any) -> Any:
    """A value as JSON has it, the same for Spark's and ours: numbers with fractions, times and bytes as texts."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else repr(value + 0.0)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case date():
            return value.isoformat()
        case timedelta():
            return f"{value // timedelta(microseconds=1)} µs"
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            return sorted([plain(key), plain(part)] for key, part in value.items())
        case list() | tuple():
            return [plain(part) for part in value]
    return value


def recorded() -> dict[str, list[Any]]:
    """The recorded calls."""
    path = HERE / "calls.jsonl"
    return {line[0]: line for line in map(json.loads, path.read_text().splitlines())} if path.exists() else {}


def session() -> SparkSession:
    """A local session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def _write(name: str, lines: Sequence[Any]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(", ", ": ")) + "\n" for line in lines)
    (HERE / name).write_text(text)


def main() -> None:
    """Write the answers of a local session."""
    spark, known = session(), recorded()
    _write("calls.jsonl", [known.get(call) or called(spark, call, rows_for(call, ROWS)) for call in CALLS])
    _write("spark.jsonl", list(answers(spark)))


if __name__ == "__main__":
    main()
