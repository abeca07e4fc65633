"""What functions cost: in recursions of one new row an iteration, and in streams of many rows.

`python benchmarks/functions.py [--before DIR]` runs a recursion for each function in this process, and streams into
views in this checkout and another one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from harness import report, side_by_side
from problems import new_engine, signed

HEADER = ["function", "µs per iteration", "seconds in all", "rows visited"]
NOTES = """\
One row an iteration, each with values that were not there before; µs of the processor's time of the thread, the
iterations' share alone: the difference to a run of three iterations."""
_PROGRAM = Template("""
.decl start(most: number)
.input start
.decl r(n: number, x: $type)
.output r
r(0, $first) :- start(_).
r(n + 1, $value) :- r(n, x), start(most), n < most$condition.
""")
# Of each case: the type, the first value, the value computed of x and n, and a condition.
CASES = {
    "integers: x bxor (n bshl 2)": ("number", "1", "x bxor (n bshl 2)", ""),
    'cat(x, "a")': ("symbol", '""', 'cat(x, "a")', ""),
    "substr(…, n % 20, 1)": ("symbol", '""', 'substr("abcdefghijklmnopqrst", n % 20, 1)', ""),
    "strlen(x)": ("symbol", '""', 'cat(x, "a")', ", strlen(x) >= 0"),
    "match(…, x)": ("symbol", '""', 'cat(x, "a")', ', match("a*", x)'),
    "contains(…, x)": ("symbol", '""', 'cat(x, "a")', ', !contains("b", x)'),
    'x < "b"': ("symbol", '""', 'cat(x, "a")', ', x < "b"'),
    "to_string(n)": ("symbol", '""', "to_string(n)", ""),
    "to_number(x)": ("symbol", '"0"', "to_string(to_number(x) + 1)", ""),
    "to_float(x)": ("symbol", '"0.5"', "to_string(to_float(x) / 1.001)", ""),
    "floats: x * 0.999": ("float", "1.0", "x * 0.999", ""),
    "max(x * 0.999, 0.001)": ("float", "1.0", "max(x * 0.999, 0.001)", ""),
    "x / y": ("float", "1.0", "x / itof(n + 1)", ""),
    "integers: 1000000 / (n + 1)": ("number", "1", "1000000 / (n + 1)", ""),
    "n ^ 2": ("number", "1", "n ^ 2", ""),
}

EPOCHS = 5
STREAMS_NOTES = """\
{rows:,} bids in each of {epochs} epochs, into one view. Thousands of rows for a second of the processor's time, the
median of the epochs, the first of which is left out; and rows and index entries visited in all of them."""
_BANDS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
_DISTINCT = ", ".join(
    f"count(DISTINCT {column}) FILTER (WHERE {band}) AS {column}s{number}"
    for column in ("bidder", "auction")
    for number, band in enumerate(_BANDS)
)
_BID = "CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, at TIMESTAMP, extra STRING)"
# `scaled` and `marks` are functions of Python.
STREAMS = {
    "without a function": "SELECT auction, bidder + price AS x FROM bid",
    "UDF of two numbers": "SELECT auction, scaled(bidder, price) AS x FROM bid",
    "UDF of texts": "SELECT auction, marks(extra, 'c') AS x FROM bid",
    "UDF of few texts": "SELECT auction, marks(channel, 'e') AS x FROM bid",
    "date_format": "SELECT auction, date_format(at, 'yyyy-MM-dd HH:mm') AS x FROM bid",
    "date_format of dates": "SELECT auction, date_format(CAST(at AS DATE), 'yyyy-MM') AS x FROM bid",
    "count(DISTINCT) FILTER": f"SELECT channel, {_DISTINCT.partition(',')[0]} FROM bid GROUP BY channel",
    "six of them": f"SELECT channel, {_DISTINCT} FROM bid GROUP BY channel",
}


def measure(program: str, iterations: int) -> tuple[float, float, int]:
    """Processor time, time and rows visited of the epoch in which the recursion runs."""
    import pyarrow as pa

    engine = new_engine(program)
    changes = signed({"start": pa.table({"most": [iterations]})}, 1)
    started, busy = time.perf_counter(), time.thread_time()
    result = engine.apply(changes)
    return time.thread_time() - busy, time.perf_counter() - started, result.rows_visited


def recursions(iterations: int) -> None:
    """Measure and report what an iteration costs."""
    rows: list[list[object]] = []
    for name, (type_, first, value, condition) in CASES.items():
        program = _PROGRAM.substitute(type=type_, first=first, value=value, condition=condition)
        measure(program, 20)
        few, _, _ = measure(program, 3)
        many, seconds, visited = measure(program, iterations)
        rows.append([name, f"{(many - few) / (iterations - 3) * 1e6:.1f}", f"{seconds:.3f}", f"{visited:,}"])
    report("functions", f"Recursions that compute, {iterations} iterations", HEADER, rows, NOTES)


def bids(count: int) -> Iterator[Any]:
    """The rows of each epoch."""
    import numpy as np
    import pyarrow as pa

    rng, channels = np.random.default_rng(1), pa.array([f"channel-{i}" for i in range(1_000)])
    for epoch in range(EPOCHS):
        times = 1_700_000_000_000_000 + (epoch * count + np.arange(count)) * 1_000_000
        yield pa.table(
            {
                "auction": rng.zipf(1.2, count) % 100_000,
                "bidder": rng.zipf(1.2, count) % 20_000,
                "price": (10 ** rng.uniform(2, 7.5, count)).astype(np.int64),
                "channel": channels.take(pa.array(rng.integers(0, 1_000, count))),
                "at": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "extra": pa.array(
                    [letters.tobytes().decode() for letters in rng.integers(97, 123, (count, 20), np.uint8)]
                ),
            }
        )


def scaled(a: int, b: int) -> int:
    """Some number of two."""
    return a * 3 + b % 7


def marks(text: str, mark: str) -> int:
    """How often a text has a mark."""
    return text.count(mark)


def streams(count: int) -> Iterator[tuple[str, tuple[float, int]]]:
    """Thousands of rows a second, and the rows visited, for each view."""
    import deltic

    functions = [deltic.function(f, deterministic=True) for f in (scaled, marks)]
    for name, query in STREAMS.items():
        pipeline = deltic.Pipeline(functions=functions)
        pipeline.sql(_BID)
        pipeline.sql(f"CREATE VIEW v AS {query}")
        rates, visited = [], 0
        for rows in bids(count):
            busy = time.process_time()
            with pipeline.transaction() as change:
                change.insert("bid", rows)
            rates.append(count / (time.process_time() - busy) / 1e3)
            visited += change.report.rows_visited
        yield name, (statistics.median(rates[1:]), visited)


def compared(count: int, before: Path | None) -> None:
    """Measure and report streams in this checkout and another one."""
    found: Mapping[str, Mapping[str, tuple[float, int]]] = side_by_side(__file__, ["--rows", str(count)], before)
    header = [
        "view",
        *(f"{what} {name}" for what in ("rows", "visited") for name in found),
        *["ratio"] * (len(found) - 1),
    ]
    rows = []
    for name in STREAMS:
        rates, visited = zip(*(each[name] for each in found.values()), strict=True)
        ratio = [f"{rates[-1] / rates[0]:.1f}"] * (len(found) - 1)
        rows.append([name, *(f"{rate:.0f}" for rate in rates), *(f"{number:,}" for number in visited), *ratio])
    notes = STREAMS_NOTES.format(rows=count, epochs=EPOCHS)
    report("functions-streams", "Streams into views that compute", header, rows, notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=300, help="of recursions; 0 leaves them out")
    parser.add_argument("--rows", type=int, default=50_000, help="in an epoch of a stream")
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--print", action="store_true", help="print the figures of this process as JSON")
    options = parser.parse_args()
    if options.print:
        print(json.dumps(dict(streams(options.rows))))
        return
    if options.iterations:
        recursions(options.iterations)
    compared(options.rows, options.before)


if __name__ == "__main__":
    main()
