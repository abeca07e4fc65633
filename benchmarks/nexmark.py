"""Each query of Nexmark as the only view of a pipeline, fed with batches of events: thousand events a second.

`python benchmarks/nexmark.py [q0 q5 …] --events 1000000 --batch 10000` prints, for each query in a process of its own,
events a second of processor time of all threads, seconds of the first and of the last tenth of the batches, rows
visited for each event, and peak memory. `--profile q9` prints where the time of one query goes.

`--peer dbsp.csv` puts the rates of DBSP beside them, and how many times as many events Deltic takes. The file is what
DBSP's public benchmark of Nexmark writes, see `PEER`; its clock counts milliseconds, so that both need `--rate 1000`.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import json
import pstats
import resource
import time
from pathlib import Path

from harness import report, side_by_side
from nexmark_events import TABLES, Generator
from nexmark_queries import QUERIES, SIDE

PEER = """DBSP: version 0.337.0, crates/nexmark of its repository, with all events made before the clock starts.
It has no q10 and no q11, keeps no table of its input, and writes no view. Processor time of all its threads:
nexmark --cpu-cores 1 --num-event-generators 1 --event-interval 1 --input-batch-size {batch} --max-events {events}"""


def run(name: str, events: int, batch: int, rate: int, profile: bool = False) -> dict[str, float]:
    """Keep one query over the events."""
    import deltic

    profiler = cProfile.Profile(time.process_time)
    pipeline = deltic.Pipeline()
    for table, columns in TABLES.items():
        pipeline.sql(f"CREATE TABLE {table} ({columns})")
    pipeline.sql(SIDE)
    pipeline.sql(f"CREATE MATERIALIZED VIEW v AS {QUERIES[name]}")
    with pipeline.transaction() as change:
        change.insert("side", [(key, f"value {key}") for key in range(10_000)])
    seconds, visited = list[float](), 0
    for tables in Generator(rate).batches(events, batch):
        started = time.process_time()
        if profile:
            profiler.enable()
        with pipeline.transaction() as change:
            for table, rows in tables.items():
                change.insert(table, rows)
        if profile:
            profiler.disable()
        seconds.append(time.process_time() - started)
        visited += change.report.rows_visited
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
    tenth, rows = max(1, len(seconds) // 10), len(pipeline["v"])
    return {
        "rate": events / sum(seconds) / 1000,
        "first": sum(seconds[1 : tenth + 1]) / tenth * 1000,
        "last": sum(seconds[-tenth:]) / tenth * 1000,
        "visited": visited / events,
        "rows": rows,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def rates_of_peer(path: Path, events: int) -> dict[str, float]:
    """Thousand events a second that DBSP took of each query, in processor time of all threads."""
    rates = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        assert int(row["num_events"]) == events, f"{path} is about {row['num_events']} events"
        spent = {
            when: int(row[f"allocstats_{when}_user_ms"]) + int(row[f"allocstats_{when}_system_ms"])
            for when in ("before", "after")
        }
        rates[row["name"].lower()] = events / (spent["after"] - spent["before"])
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="*", default=[*QUERIES])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=10_000, help="events a second of the site's clock")
    parser.add_argument("--peer", type=Path, help="figures of DBSP, a CSV file")
    parser.add_argument("--before", type=Path, help="another checkout to measure in the same run")
    parser.add_argument("--print", action="store_true", help="print the figures of one query as JSON")
    parser.add_argument("--profile", action="store_true", help="print where the time of one query goes")
    options = parser.parse_args()
    if options.print or options.profile:
        print(json.dumps(run(options.queries[0], options.events, options.batch, options.rate, options.profile)))
        return
    peer = rates_of_peer(options.peer, options.events) if options.peer else None
    rows = []
    for name in options.queries:
        arguments = [name, "--events", str(options.events), "--batch", str(options.batch), "--rate", str(options.rate)]
        results = side_by_side(str(Path(__file__)), arguments, options.before)
        now = results["now"]
        figures = [f"{now[part]:.1f}" for part in ("first", "last", "visited")]
        figures += [f"{now[part]:.0f}" for part in ("rows", "MiB")]
        rates = [f"{result['rate']:.0f}" for result in results.values()]
        if peer is not None:
            rates += [f"{peer[name]:.0f}", f"{now['rate'] / peer[name]:.2f}"] if name in peer else ["", ""]
        rows.append([name, *rates, *figures])
        print(*rows[-1], flush=True)
    rates = ["k events/s before", "k events/s now"] if options.before else ["k events/s"]
    header = [
        "query",
        *rates,
        *(["DBSP", "times DBSP"] if options.peer else []),
        "ms first batches",
        "ms last batches",
        "rows visited an event",
        "rows of the view",
        "MiB",
    ]
    title = (
        f"Nexmark, {options.events} events in batches of {options.batch}, {options.rate} a second of the site's clock"
    )
    notes = PEER.format(events=options.events, batch=options.batch) if options.peer else ""
    report("nexmark", f"{title}, processor time", header, rows, notes)


if __name__ == "__main__":
    main()
