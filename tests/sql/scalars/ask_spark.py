"""Ask Spark for types and values of expressions.txt: `TZ=UTC python -m tests.sql.scalars.ask_spark`.

Writes spark.jsonl, one line of [expression, type, value] for each; the type is ERR and the value the class of the error
for what Spark refuses. The session is in UTC and ANSI mode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


def expressions() -> list[str]:
    """The expressions, each once."""
    return list(dict.fromkeys((HERE / "expressions.txt").read_text().splitlines()))


def answers(spark: SparkSession) -> Iterator[list[str]]:
    """What Spark says of each expression; nothing of intervals of months, which PySpark cannot show."""
    from pyspark.errors import PySparkException

    for expression in expressions():
        try:
            rows = spark.sql(f"SELECT {expression} AS r")
            yield [expression, rows.schema[0].dataType.simpleString(), repr(rows.collect()[0][0])]
        except PySparkException as error:
            kind = error.getCondition() or ""
            if kind != "NOT_IMPLEMENTED":
                yield [expression, "ERR", kind]


def main() -> None:
    """Write the answers of a local session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    found = answers(builder.getOrCreate())
    (HERE / "spark.jsonl").write_text("".join(json.dumps(a, ensure_ascii=False) + "\n" for a in found))


if __name__ == "__main__":
    main()
