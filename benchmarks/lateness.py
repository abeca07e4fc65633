"""State and cost of streams with a lateness, beside the same without: how they grow with the rows that have come.

`python benchmarks/lateness.py [ROWS]` lets so many rows come into each of two tables, in epochs of 200, ten seconds
apart, one in fifty up to an hour late. Three views: windows, a DISTINCT, and a join of the two. Entries are those of
all arrangements but the views' own.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from harness import report

from deltic import Pipeline

PROGRAM = """
CREATE TABLE click (page STRING, ts TIMESTAMP {late}, x BIGINT);
CREATE TABLE buy (page STRING, ts TIMESTAMP {late}, x BIGINT);
CREATE VIEW per_hour AS
    SELECT page, window.start AS since, count(*) AS n, max(x) AS most FROM click GROUP BY page, window(ts, '1 hour');
CREATE VIEW seen AS SELECT DISTINCT page, CAST(ts AS DATE) AS day FROM click;
CREATE VIEW bought AS SELECT CAST(c.ts AS DATE) AS day, count(*) AS n FROM click c JOIN buy b ON c.ts = b.ts GROUP BY 1;
"""
LATENESS = {"2 hours": "LATENESS INTERVAL 2 HOURS", "none": ""}
SIZE, STEPS = 200, 5
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def rows(draw: random.Random, first: int) -> list[tuple[str, datetime, int]]:
    """The rows of one epoch."""
    late = [draw.randrange(3600) if draw.random() < 0.02 else 0 for _ in range(SIZE)]
    times = [BEGIN + timedelta(seconds=10 * (first + n) - ago) for n, ago in enumerate(late)]
    return [(f"/{draw.randrange(40)}", time, draw.randrange(1000)) for time in times]


def feed(pipeline: Pipeline, draw: random.Random, first: int, last: int) -> float:
    """Let rows come; the median of the milliseconds that an epoch takes."""
    taken = []
    for start in range(first, last, SIZE):
        batches = {table: rows(draw, start) for table in ("click", "buy")}
        started = time.perf_counter()
        with pipeline.transaction() as change:
            for table, batch in batches.items():
                change.insert(table, batch)
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken)


def measure(count: int) -> list[list[object]]:
    """A line for each fifth of the rows, with a lateness and without."""
    pipelines = {name: Pipeline() for name in LATENESS}
    for name, pipeline in pipelines.items():
        pipeline.sql(PROGRAM.format(late=LATENESS[name]))
    draws = {name: random.Random(7) for name in pipelines}
    lines: list[list[object]] = []
    for step in range(STEPS):
        for name, pipeline in pipelines.items():
            median = feed(pipeline, draws[name], step * count // STEPS, (step + 1) * count // STEPS)
            sizes = [s for s in pipeline.sizes().to_arrow().to_pylist() if s["relation"] not in pipeline.views]
            shown = sum(len(pipeline[view]) for view in pipeline.views)
            kept = f"{sum(s['entries'] for s in sizes):,}", f"{sum(s['bytes'] for s in sizes) / 1024:,.0f}"
            lines.append([f"{2 * (step + 1) * count // STEPS:,}", name, *kept, f"{shown:,}", f"{median:.2f}"])
    one, other = pipelines.values()
    assert all(Counter(one[view]) == Counter(other[view]) for view in one.views)
    return lines


if __name__ == "__main__":
    header = ("rows", "lateness", "entries", "KiB", "rows of views", "median ms")
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    report("lateness", "State of streams with a lateness and without, as rows come", header, found)
