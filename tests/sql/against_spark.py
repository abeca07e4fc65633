"""Views through random changes, and Spark's own answers to their queries in every epoch.

``TZ=UTC python -m tests.sql.against_spark`` asks Spark and writes its answers to spark.jsonl: for each of some schemas
its tables, how they change, and the queries with their answers, all as Python writes them.
"""

from __future__ import annotations

import datetime
import json
import random
import zoneinfo
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from deltic.engine.engine import IncrementalEngine
from tests.sql.against_duckdb import Bag, arrow_table, bag_of, batches_of, circuit_of, random_change
from tests.sql.random_queries import Column, QueryMaker, Schema, Table, random_schema

ANSWERS = Path(__file__).parent / "spark.jsonl"
EPOCHS = 2
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.crossJoin.enabled": "true",
}
TIMES = (Table("t", (Column("k", "INT"), Column("ts", "TIMESTAMP"), Column("x", "INT", False))),)
WINDOWS = (
    "SELECT window.start AS a, window.end AS b, k, sum(x) AS s FROM t GROUP BY window(ts, '10 minutes'), k",
    "SELECT window, count(*) AS n FROM t GROUP BY window(ts, '10 minutes', '5 minutes')",
    "SELECT window(ts, '1 hour', '25 minutes', '7 minutes') AS w, max(k) AS m FROM t GROUP BY 1",
    "SELECT window(ts, '10 seconds') AS w, k, x FROM t WHERE x > 0",
    "SELECT window(ts, '90 seconds', '60 seconds', '-1 second').start AS w, x FROM t",
    "SELECT session_window.start AS a, session_window.end AS b, count(*) AS n FROM t "
    "GROUP BY session_window(ts, '5 minutes')",
    "SELECT session_window AS w, k, min(x) AS n FROM t GROUP BY k, session_window(ts, '300 seconds')",
    "SELECT k + 1 AS j, count(DISTINCT x) AS n FROM t GROUP BY session_window(ts, '1 minute'), k + 1",
    "SELECT session_window.end AS w, sum(x) AS s FROM t GROUP BY session_window(ts, '10 minutes') HAVING sum(x) > 2",
)


FORMS_OF = (
    Table("t", (Column("a", "INT"), Column("b", "INT"), Column("c", "STRING"))),
    Table("u", (Column("k", "INT"), Column("x", "INT"))),
    Table("r", (Column("id", "INT"), Column("s", "STRUCT<v: INT, w: STRING>"))),
    Table("s", (Column("v", "INT"), Column("id", "INT", False))),
)
FORMS = tuple(
    line for line in (Path(__file__).parent / "forms.sql").read_text().splitlines() if not line.startswith("--")
)


@dataclass(frozen=True)
class Course:
    """The tables of a schema through the epochs: how they change, and what is in them then."""

    schema: Schema
    changes: Sequence[Mapping[str, Counter]]
    states: Sequence[Mapping[str, Counter]]

    @classmethod
    def of(cls, schema: Schema, rng: random.Random) -> Course:
        changes, states = [], [{table.name: Counter() for table in schema}]
        for _ in range(EPOCHS):
            before = states[-1]
            changes.append({t.name: random_change(rng, t.columns, before[t.name]) for t in schema})
            states.append({name: +Counter(before[name]) for name in before})
            for name, change in changes[-1].items():
                for row, weight in change.items():
                    states[-1][name][row] += weight
                states[-1][name] = +states[-1][name]
        return cls(schema, changes, states[1:])

    @property
    def from_nothing_to_nothing(self) -> Course:
        """The same with an epoch before in which there are no rows, and one behind after which there are none."""
        nothing = {table.name: Counter() for table in self.schema}
        all_gone = {name: Counter({row: -n for row, n in rows.items()}) for name, rows in self.states[-1].items()}
        return Course(self.schema, [nothing, *self.changes, all_gone], [nothing, *self.states, nothing])


@contextmanager
def quick(spark) -> Iterator[None]:
    """Spark with settings for small tables."""
    before = {name: spark.conf.get(name, None) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


def followed(query, course, engine_of=IncrementalEngine):
    """The rows of the view after each epoch."""
    circuit = circuit_of(query, course.schema)
    engine = engine_of(circuit)
    for change in course.changes:
        engine.apply(batches_of(circuit, course.schema, change), "trust")
        yield bag_of(engine.read("v", counted=True))


def show(spark, course, epoch):
    """Let Spark have the tables as they are after an epoch."""
    for table in course.schema:
        rows = arrow_table(table.columns, course.states[epoch][table.name], "n")
        repeated = [i for i, n in enumerate(rows.column("n").to_pylist()) for _ in range(n)]
        spark.createDataFrame(rows.drop_columns("n").take(pa.array(repeated, pa.int64()))).createOrReplaceTempView(
            table.name
        )


def answer(spark, query):
    """Spark's answer; None for a query that it does not take."""
    from pyspark.errors import AnalysisException

    try:
        rows = spark.sql(query).toArrow()
    except AnalysisException:
        return None
    columns = [*rows.columns, pa.array([1] * len(rows), pa.int64())]
    return bag_of(pa.table(columns, names=[str(i) for i in range(len(columns))]))


def random_course(seed: int, count: int) -> tuple[Course, list[str]]:
    """Tables of a random schema through random changes, and random queries over them."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    queries = [QueryMaker(rng, schema).query() for _ in range(count)]
    return Course.of(schema, rng), queries


def answers(spark, course: Course, queries: Sequence[str]) -> dict[str, list[Bag]]:
    """Spark's answers in every epoch to those queries that it takes."""
    found: dict[str, list[Bag]] = {query: [] for query in queries}
    with quick(spark):
        for epoch in range(len(course.states)):
            show(spark, course, epoch)
            for query in list(found):
                rows = answer(spark, query)
                if rows is None:
                    del found[query]
                else:
                    found[query].append(rows)
    return found


def recorded() -> list[tuple[Course, dict[str, list[Bag]]]]:
    """What spark.jsonl has."""
    names = {
        "datetime": datetime,
        "zoneinfo": zoneinfo,
        "Decimal": Decimal,
        "Counter": Counter,
        "Column": Column,
        "Table": Table,
    }
    return [
        (Course(*(eval(part, names) for part in line[:3])), eval(line[3], names))  # what this module has written
        for line in map(json.loads, ANSWERS.read_text().splitlines())
    ]


def main() -> None:
    """Ask a local session."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    courses = [random_course(seed, 11) for seed in range(10)]
    courses.append((Course.of(TIMES, random.Random(1)), list(WINDOWS)))
    courses.append((Course.of(FORMS_OF, random.Random(5)).from_nothing_to_nothing, list(FORMS)))
    parts = [(c.schema, c.changes, c.states, answers(spark, c, queries)) for c, queries in courses]
    lines = (json.dumps([repr(part) for part in line], ensure_ascii=False) for line in parts)
    ANSWERS.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
