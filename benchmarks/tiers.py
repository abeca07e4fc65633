"""Which library computes a function exactly as Spark does, and how fast: pyarrow, DuckDB, DataFusion, and Deltic.

`python benchmarks/tiers.py ask FILE` asks a Spark session for each call of tests/sql/scalars/calls.txt over 1,000
random rows, 200 where rows are errors, which Spark says one at a time. `python benchmarks/tiers.py FILE
[--datafusion PYTHON]` tries the same calls: in DuckDB and DataFusion as they are written, in pyarrow.compute where
`ARROW` has them, and in Deltic as a view has them and row by row. DataFusion runs with its functions for Spark in a
Python that has the package, for nothing else needs it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from harness import report
from sqlglot import exp

from deltic.errors import DelticError

sys.path.insert(0, str(Path(__file__).parents[1]))

HEADER = [
    "call",
    "tier",
    "Deltic",
    "rows/s",
    "row by row",
    "DuckDB",
    "rows/s",
    "DataFusion",
    "rows/s",
    "Arrow",
    "rows/s",
]
NOTES = """\
1,000 random rows, 200 where some are errors. For each candidate the share of rows that are as in Spark, in percent, 100
only for all; an error counts as equal where the candidate gives NULL or an error for the row by itself. Rows a second
are of 5,000 rows, the random ones again and again; row by row those of the definition for single values. "-": there is
no such function, or it refuses the call."""
SEED, ROWS, FEW, MANY = 1, 1000, 200, 5_000

# What pyarrow.compute has for a call.
ARROW: Mapping[str, Callable[..., Any]] = {
    "upper(s)": pc.utf8_upper,
    "lower(s)": pc.utf8_lower,
    "reverse(s)": pc.utf8_reverse,
    "length(s)": pc.utf8_length,
    "octet_length(s)": pc.binary_length,
    "initcap(s)": pc.utf8_title,
    "trim(s)": lambda s: pc.utf8_trim(s, " "),
    "startswith(s, 'a')": lambda s: pc.starts_with(s, "a"),
    "endswith(s, 'c')": lambda s: pc.ends_with(s, "c"),
    "contains(s, 'b')": lambda s: pc.match_substring(s, "b"),
    "like(s, '%a%')": lambda s: pc.match_like(s, "%a%"),
    "rlike(s, '^[0-9]*$')": lambda s: pc.match_substring_regex(s, "^[0-9]*$"),
    "regexp_replace(s, '[a-c]', '<$0>')": lambda s: pc.replace_substring_regex(s, "([a-c])", r"<\1>"),
    "regexp_count(s, '[a-c]')": lambda s: pc.count_substring_regex(s, "[a-c]"),
    "split(s, '-')": lambda s: pc.split_pattern(s, "-"),
    "replace(s, 'a')": lambda s: pc.replace_substring(s, "a", ""),
    "concat_ws(s, t, u)": lambda s, t, u: pc.binary_join_element_wise(t, u, s, null_handling="skip"),
    "abs(d)": pc.abs,
    "abs(i)": pc.abs_checked,
    "sin(d)": pc.sin,
    "cos(d)": pc.cos,
    "tan(d)": pc.tan,
    "asin(d)": pc.asin,
    "acos(d)": pc.acos,
    "atan(d)": pc.atan,
    "atan2(d, e)": pc.atan2,
    "sqrt(d)": pc.sqrt,
    "exp(d)": pc.exp,
    "expm1(d)": lambda d: pc.expm1(d),
    "ln(d)": pc.ln,
    "log10(d)": pc.log10,
    "log2(d)": pc.log2,
    "log1p(d)": pc.log1p,
    "pow(d, e)": pc.power,
    "power(d, 2)": lambda d: pc.power(d, pa.scalar(2.0)),
    "sinh(d)": lambda d: pc.sinh(d),
    "cosh(d)": lambda d: pc.cosh(d),
    "tanh(d)": lambda d: pc.tanh(d),
    "signum(p)": pc.sign,
    "ceil(d)": pc.ceil,
    "floor(d)": pc.floor,
    "rint(d)": lambda d: pc.round(d, 0, "half_to_even"),
    "round(d, 2)": lambda d: pc.round(d, 2, "half_towards_infinity"),
    "bround(d, 1)": lambda d: pc.round(d, 1, "half_to_even"),
    "bround(p, 1)": lambda p: pc.round(p, 1, "half_to_even"),
    "round(q, -3)": lambda q: pc.round(q, -3, "half_towards_infinity"),
    "year(x)": pc.year,
    "quarter(x)": pc.quarter,
    "month(x)": pc.month,
    "day(z)": pc.day,
    "dayofyear(x)": pc.day_of_year,
    "weekofyear(x)": pc.iso_week,
    "weekday(x)": pc.day_of_week,
    "hour(z)": pc.hour,
    "minute(z)": pc.minute,
    "second(z)": pc.second,
    "date_format(z, 'yyyy-MM-dd HH:mm:ss.SSSSSS')": lambda z: pc.strftime(z, "%Y-%m-%d %H:%M:%S"),
    "date_format(x, 'yyyy-MM')": lambda x: pc.strftime(x, "%Y-%m"),
    "date_trunc('hour', z)": lambda z: pc.floor_temporal(z, unit="hour"),
    "size(xs)": pc.list_value_length,
    "flatten(xss)": lambda xss: pc.list_flatten(xss),
    "unix_micros(z)": lambda z: z.cast(pa.int64()),
    "coalesce(s, t)": pc.coalesce,
    "greatest(i, j, k)": pc.max_element_wise,
    "least(x, w)": pc.min_element_wise,
}


def ask(file: Path) -> None:
    """Write Spark's answers."""
    import logging

    from tests.sql.scalars.ask_spark import called, recorded, session
    from tests.sql.scalars.calls import CALLS, rows_for

    logging.disable(logging.CRITICAL)
    spark, answers = session(), recorded()
    known = {json.loads(line)[0] for line in file.read_text().splitlines()} if file.exists() else set()
    with file.open("a", buffering=1) as out:
        for call in dict.fromkeys(call for call in CALLS if call not in known):
            count = FEW if "error" in str(answers[call]) else ROWS
            out.write(json.dumps(called(spark, call, rows_for(call, count, SEED))) + "\n")
    spark.stop()


class Trial:
    """A call, its random rows, and what Spark answered."""

    def __init__(self, call: str, answers: Sequence[Any]) -> None:
        from tests.sql.scalars.calls import COLUMNS, columns_of, rows_for
        from tests.sql.scalars.replayed import translated

        from deltic.values import to_arrow

        self.call, self.answers = call, answers
        self.names, self.rows = columns_of(call), rows_for(call, ROWS, SEED)[: len(answers)]
        self.types = {name: COLUMNS[name][0] for name in self.names}
        self.typed = translated(call)
        self.columns = {
            name: to_arrow([row[i] for row in self.rows], type_) for i, (name, type_) in enumerate(self.types.items())
        }
        self.table = pa.table({**self.columns, "row_number": pa.array(range(len(self.rows)))})
        self.defined = pa.array([not isinstance(answer, dict) for answer in answers], pa.bool_())

    def equal(self, given: Callable[[pa.Table], Any]) -> float | None:
        """The share of rows in percent for which a candidate has Spark's value; None where it takes none."""
        good = self._equal_of(
            self.table.filter(self.defined), [a for a in self.answers if not isinstance(a, dict)], given
        )
        errors = self.table.filter(pc.invert(self.defined)).slice(0, 30)
        missed = sum(self._answered(errors.slice(i, 1), given) for i in range(errors.num_rows))
        if good is None:
            return None
        share: float = (
            100 * (good + errors.num_rows - missed) / max(int(pc.sum(self.defined).as_py()) + errors.num_rows, 1)
        )
        return share if share == 100 else min(share, 99.9)

    def _equal_of(self, table: pa.Table, answers: Sequence[Any], given: Callable[[pa.Table], Any]) -> int | None:
        from tests.sql.scalars.replayed import agree

        if not table.num_rows:
            return 0
        try:
            found = self._shown(given(table))
            if len(found) != table.num_rows:
                raise ValueError("it is no function of each row")
        except Exception:  # noqa: BLE001 - each library has errors of its own
            if table.num_rows <= 8:
                return None if table.num_rows == len(self.rows) else 0
            half = table.num_rows // 2
            parts = self._equal_of(table.slice(0, half), answers[:half], given)
            if not parts:
                return parts
            return parts + (self._equal_of(table.slice(half), answers[half:], given) or 0)
        return sum(agree(answer, own) for answer, own in zip(answers, found, strict=True))

    def _shown(self, column: Any) -> list[Any]:
        from tests.sql.scalars.replayed import shown

        from deltic.values import from_arrow

        type_ = self.typed.type.type
        column = pa.chunked_array(column) if isinstance(column, list) else column
        return [shown(value, type_) for value in from_arrow(column.cast(type_.arrow), type_)]

    def _answered(self, table: pa.Table, given: Callable[[pa.Table], Any]) -> bool:
        try:
            return self._shown(given(table))[0] is not None
        except Exception:  # noqa: BLE001
            return False

    @property
    def many(self) -> pa.Table:
        """Rows that are no errors, again and again."""
        good = self.table.filter(self.defined)
        return pa.concat_tables([good] * (MANY // max(good.num_rows, 1) + 1)).slice(0, MANY).combine_chunks()

    def speed(self, given: Callable[[pa.Table], Any]) -> float:
        """Rows a second."""
        table = self.many
        started = time.perf_counter()
        given(table)
        seconds = time.perf_counter() - started
        return float(table.num_rows / seconds)

    def tier(self) -> str:
        """How Deltic computes it."""
        from deltic.functions import function_of, is_call

        calls = filter(is_call, self.typed.expression.find_all(exp.Anonymous))
        tiers = [function_of(node).tier for node in calls]
        return max(tiers, key=("core", "numpy", "Arrow", "DuckDB", "Python").index, default="core")

    def deltic(self, table: pa.Table) -> Any:
        """Deltic's engine on columns."""
        from deltic.engine.operators import scalar
        from deltic.engine.operators.columns import Columns
        from deltic.engine.operators.numbers import stored
        from deltic.engine.storage.codec import decode, encode
        from deltic.engine.storage.interner import Interner

        interner = Interner()
        values = {name: encode(table.column(name), type_, interner) for name, type_ in self.types.items()}
        columns = Columns(values, self.types, table.num_rows, interner)
        array, nulls = scalar.evaluate(self.typed.expression, columns)
        type_ = self.typed.type.type
        return decode(stored(array, type_, interner), nulls, type_, interner)

    def single(self, table: pa.Table) -> Any:
        """Python's definition row by row."""
        from deltic.circuit.expressions.meaning import meaning
        from deltic.values import from_arrow

        mean = meaning(self.typed.expression, self.types)
        columns = [from_arrow(table.column(name), type_) for name, type_ in self.types.items()]
        return [mean(dict(zip(self.names, row, strict=True))) for row in zip(*columns, strict=True)]

    def arrow(self, table: pa.Table) -> Any:
        """pyarrow.compute."""
        return ARROW[self.call](*(table.column(name) for name in self.names))


def in_duckdb() -> Callable[[str, pa.Table], Any]:
    """A connection to DuckDB, which evaluates a call."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")

    def evaluate(call: str, table: pa.Table) -> Any:
        connection.register("t", table)
        return connection.sql(f"SELECT {call} AS r FROM t").to_arrow_table().column("r")

    return evaluate


WORKER = """
import sys, pickle, datafusion, pyarrow as pa
context = datafusion.SessionContext(datafusion.SessionConfig({"datafusion.execution.target_partitions": "1",
    "datafusion.execution.time_zone": "UTC", "datafusion.execution.enable_ansi_mode": "true"}))
context.enable_spark_functions()
while True:
    try:
        call, data = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    import time
    try:
        table = pa.ipc.open_stream(data).read_all()
        context.from_arrow(table, name="t")
        started = time.perf_counter()
        found = context.sql(f"SELECT {call} AS r FROM t").to_arrow_table()
        seconds = time.perf_counter() - started
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, found.schema) as writer:
            writer.write_table(found)
        answer = seconds, sink.getvalue().to_pybytes()
    except BaseException as error:
        answer = None, str(error)
    finally:
        context.deregister_table("t")
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class DataFusion:
    """DataFusion with its functions for Spark, in another Python."""

    def __init__(self, python: str) -> None:
        process = subprocess.Popen([python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        self.asked, self.answered = process.stdin, process.stdout

    def __call__(self, call: str, table: pa.Table) -> Any:
        return self.timed(call, table)[1]

    def timed(self, call: str, table: pa.Table) -> tuple[float, Any]:
        """The seconds that the query took, and the column."""
        import pickle

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        pickle.dump((call, sink.getvalue().to_pybytes()), self.asked)
        self.asked.flush()
        seconds, found = pickle.load(self.answered)
        if seconds is None:
            raise ValueError(found)
        return seconds, pa.ipc.open_stream(found).read_all().column("r")


def cells(trial: Trial, given: Callable[[pa.Table], Any] | None, speed: Callable[[], float]) -> list[str]:
    """The share of equal rows, and rows a second where there are any."""
    equal = trial.equal(given) if given is not None else None
    if not equal:
        return ["-", "-"]
    try:
        return [f"{equal:.1f}" if equal < 100 else "100", f"{speed():,.0f}"]
    except Exception:  # noqa: BLE001
        return [f"{equal:.1f}", "-"]


def _single_speed(trial: Trial, rows: pa.Table) -> float:
    started = time.perf_counter()
    try:
        trial.single(rows)
    except DelticError:
        return float("nan")
    return float(rows.num_rows / (time.perf_counter() - started))


def row(trial: Trial, duckdb: Callable[[str, pa.Table], Any], datafusion: DataFusion | None) -> list[str]:
    """A line of the table."""
    by_duckdb = lambda table: duckdb(trial.call, table)  # noqa: E731
    by_datafusion = None if datafusion is None else lambda table: datafusion(trial.call, table)
    arrow = trial.arrow if trial.call in ARROW else None
    ours = cells(trial, trial.deltic, lambda: trial.speed(trial.deltic))
    few = trial.many.slice(0, 20)
    single = f"{_single_speed(trial, few):,.0f}"
    return [
        trial.call,
        trial.tier(),
        *ours,
        single,
        *cells(trial, by_duckdb, lambda: trial.speed(by_duckdb)),
        *cells(trial, by_datafusion, lambda: MANY / datafusion.timed(trial.call, trial.many)[0] if datafusion else 0.0),
        *cells(trial, arrow, lambda: trial.speed(trial.arrow)),
    ]


def fixed(duckdb: Callable[[str, pa.Table], Any], datafusion: DataFusion | None) -> str:
    """The time of a call over one row."""
    table, found = pa.table({"s": ["a"]}), []
    for name, compute in (
        ("DuckDB", lambda: duckdb("upper(s)", table)),
        *((("DataFusion", None),) if datafusion is not None else ()),
        ("pyarrow.compute", lambda: pc.utf8_upper(table.column("s"))),
    ):
        seconds = []
        for _ in range(51):
            started = time.perf_counter()
            if compute is None:
                assert datafusion is not None
                seconds.append(datafusion.timed("upper(s)", table)[0])
                continue
            compute()
            seconds.append(time.perf_counter() - started)
        found.append(f"{name} {sorted(seconds)[25] * 1e6:,.0f} µs")
    return f"A call over one row takes (median of 51): {', '.join(found)}."


def main(answers: Path, datafusion: str | None, only: str) -> None:
    """Try all calls and report."""
    duckdb, other = in_duckdb(), DataFusion(datafusion) if datafusion else None
    rows = []
    for call, type_, of_rows in map(json.loads, answers.read_text().splitlines()):
        if only in call and isinstance(type_, str) and of_rows:
            rows.append(row(Trial(call, [one[-1] for one in of_rows]), duckdb, other))
            print(*rows[-1], file=sys.stderr)
    exact = {
        name: sum(line[i] == "100" for line in rows) for name, i in (("Deltic", 2), ("DuckDB", 5), ("DataFusion", 7))
    }
    message = ", ".join(f"{name} {count}" for name, count in exact.items())
    notes = f"{NOTES}\n\n{fixed(duckdb, other)}\nCalls that are exact of {len(rows)}: {message}."
    report("tiers", f"Calls of functions over {ROWS} random rows", HEADER, rows, notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", help="`ask`, or the file of answers")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--datafusion")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if given.action == "ask":
        ask(given.file)
    else:
        main(Path(given.action), given.datafusion, given.only)
