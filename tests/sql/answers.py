"""Spark's own answers to statements over fixed tables: the names of the columns and the rows.

``TZ=UTC python -m tests.sql.answers FILE`` asks Spark the statements of a file, one a line, and adds to answers.jsonl.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pyarrow as pa

ANSWERS = Path(__file__).parent / "answers.jsonl"
TABLES = (Path(__file__).parent / "answers_tables.sql").read_text()


def shown(table: pa.Table) -> list[list[str]]:
    """The names of the columns, and then the rows, whose values are texts."""
    columns = [[_text(value) for value in column.to_pylist()] for column in table.columns]
    return [table.column_names, *map(list, zip(*columns, strict=True))]


def _text(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.10g}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_text(part)}' for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value).removesuffix("+00:00")


def main(path: str) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    for view in TABLES.replace("CREATE VIEW", "CREATE OR REPLACE TEMPORARY VIEW").split(";\n"):
        if view:
            spark.sql(view)
    with ANSWERS.open("a") as file:
        for statement in Path(path).read_text().splitlines():
            file.write(json.dumps([statement, *shown(spark.sql(statement).toArrow())]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
