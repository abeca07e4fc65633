"""What a refresh costs on many executors: floors that are measured here, and a simulation that adds them up.

`python benchmarks/scale.py`. Measured are processor seconds on local[2]: of a task, of a block of a shuffle, of a
changed row. Simulated are stages one behind the other, whose tasks wait for free cores, with a driver that starts them
one by one, rows that are spread by a hash, and tasks that are slow by chance, with speculation and without.
"""

from __future__ import annotations

import heapq
import re
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness import RESULTS, report
from pages import session
from spark import PARTS, epochs, timed

import deltic
from deltic.engine.executors.spark.job import TASKS_A_SLOT

ROWS, SHARDS = 100_000, 4
RUNS = 20
NOTES = """\
Measured: processor seconds on local[2], so that a load of the machine stretches them little. The rest is a
simulation: {executors} executors of {cores} cores; a stage begins when the one before has ended; its tasks, at most
two a core, take free cores in turn. A task takes its floor, that of each of its shards that a row reaches, and
its part of the changed rows and of the blocks; {slow:.0%} of the tasks take {factor:g} times as long, as garbage
collection, a busy disk or a noisy neighbour have it (assumed).
speculated: when three quarters of a stage's tasks are done, one that has taken 1.5 times their median is run
once more, on a free core. The driver starts a task in {launch:.2f} ms, which is what Spark's driver and
executor take together for an empty one. Rows go to shards by a hash; hot key: a hundredth of them have one key.
Means of {runs} runs. letters: what the changed rows are as Arrow, which a driver has to hold."""


@dataclass(frozen=True)
class Floors:
    """Seconds: of a task of Python, of a shard that it opens, of each block and row; and the bytes of a row."""

    task: float
    shard: float
    block: float
    row: float
    launch: float
    start: float
    stages: int
    letter: int


@dataclass(frozen=True)
class Cluster:
    """Executors, and how often and how much a task is slow."""

    executors: int = 100
    cores: int = 4
    slow: float = 0.01
    factor: float = 8.0
    speculates: bool = False
    hot: float = 0.0


def measure() -> tuple[Floors, list[list[object]]]:
    """The floors, and how they were found."""
    with session(2, "1g") as spark, tempfile.TemporaryDirectory() as scratch:
        launch = _slope([(n, _processor_of(lambda n=n: _tasks(spark, n, 1, False))) for n in (100, 800)])
        task = _slope([(n, _processor_of(lambda n=n: _tasks(spark, n, 1, True))) for n in (20, 120)])
        shuffles = [(n * n, _processor_of(lambda n=n: _tasks(spark, n, 2, False)) - 2 * n * launch) for n in (20, 200)]
        pipeline = deltic.Pipeline(spark, engine="spark", shards=deltic.Shards(SHARDS, scratch, "job"))
        small = next(one for part, one in epochs(spark, pipeline, "revenue", ROWS) if part)
        assert small.work is not None
        stages = small.work.stages
        start = _processor_of(lambda: _tasks(spark, 1, 1, False))
    row = _slope(_of_large_changes())
    own = max((small.cpu - start) / (SHARDS * (stages - 1) + 2) - task, 0.0)
    floors = Floors(task, own, max(_slope(shuffles), 0.0), row, launch, start, stages, 40)
    parts: list[list[object]] = [
        ["a task of Spark that does nothing", f"{launch * 1e3:.2f} ms"],
        ["a task that hands batches through Python", f"{task * 1e3:.1f} ms"],
        ["a shard of an epoch of few rows: opening it, looking, writing", f"{own * 1e3:.0f} ms"],
        ["a block of a shuffle", f"{floors.block * 1e6:.0f} µs"],
        ["a changed row, through all stages of two joins and an aggregate (spark.txt)", f"{row * 1e6:.1f} µs"],
        ["the start of a job", f"{start:.2f} s"],
        ["stages of a job for two joins and an aggregate", str(stages)],
    ]
    return floors, parts


def _of_large_changes(what: str = "cpu s", name: str = "spark") -> list[tuple[float, float]]:
    """What changes took as one job, in a file of benchmarks/results: rows and seconds, of a processor if not told."""
    title, *lines = (RESULTS / f"{name}.txt").read_text().splitlines()
    cells = [re.split(r" {2,}", line.strip()) for line in lines]
    header = next(one for one in cells if "executor" in one)
    rows = [dict(zip(header, one, strict=False)) for one in cells if any("one job" in cell for cell in one)]
    count = int(title.split()[0].replace(",", ""))
    changes = [row for row in rows if row.get("view", "revenue") == "revenue" and row["change"].endswith("%")]
    return [(count * float(row["change"].rstrip("%")) / 100, float(row[what])) for row in changes]


def _processor_of(run: Any) -> float:
    """The least processor seconds of a few runs."""
    return min(timed(run)[1] for _ in range(6))


def _tasks(spark: Any, tasks: int, stages: int, in_python: bool) -> None:
    """A job of so many tasks in each stage, with one row for each pair of tasks."""
    frame = spark.range(0, tasks * tasks if stages > 1 else tasks, 1, tasks)
    for _ in range(stages - 1):
        frame = frame.repartitionById(tasks, (frame["id"] % tasks).cast("int"))
    if in_python:
        frame = frame.mapInArrow(_through, "id bigint")
    frame.where("id < 0").toArrow()


def _through(batches: Any) -> Any:
    yield from batches


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The seconds for each one more, by least squares."""
    xs, ys = np.array(points, float).T
    return float(np.polyfit(xs, ys, 1)[0])


def simulate(floors: Floors, cluster: Cluster, shards: int, rows: float, rng: np.random.Generator) -> float:
    """The seconds of one refresh."""
    counts = rng.multinomial(int(rows * (1 - cluster.hot)), np.full(shards, 1 / shards)).astype(float)
    counts[0] += rows * cluster.hot
    seconds, parts = floors.start, min(shards, TASKS_A_SLOT * cluster.executors * cluster.cores)
    of_shard = (counts > 0) * floors.shard + counts * floors.row / floors.stages
    of_task = floors.task + np.bincount(np.arange(shards) % parts, of_shard, parts)
    for stage in range(floors.stages):
        work = of_task + (parts * floors.block if stage else 0.0)
        slow = rng.random(parts) < cluster.slow
        seconds += _stage(work, np.where(slow, work * cluster.factor, work), floors.launch, cluster)
    return seconds


def _stage(usual: np.ndarray, taken: np.ndarray, launch: float, cluster: Cluster) -> float:
    """When the last task of a stage has ended, of tasks that take free cores in turn."""
    free = [0.0] * min(cluster.executors * cluster.cores, len(taken))
    begun: list[float] = []
    ends: list[float] = []
    for number, seconds in enumerate(taken):
        start = max(heapq.heappop(free), (number + 1) * launch)
        begun.append(start)
        ends.append(start + seconds)
        heapq.heappush(free, ends[-1])
    if not cluster.speculates:
        return max(ends)
    done = sorted(ends)[3 * len(ends) // 4]
    limit = 1.5 * statistics.median(taken)
    again: list[float] = []
    for start, seconds in zip(begun, usual, strict=True):
        again.append(max(done, start + limit) + seconds + launch)
    return max(map(min, ends, again))


def _checked(floors: Floors, rng: np.random.Generator) -> str:
    """What the simulation says of one machine with two cores, of which files of benchmarks/results have the truth."""
    machine, lines = Cluster(1, 2, slow=0.0), []
    for name, shards, rows in (("spark", SHARDS, 1e7), ("spark-100000000", 16, 1e8)):
        message = ", ".join(f"{simulate(floors, machine, shards, rows * part, rng):.1f} s" for part in PARTS)
        *others, last = (f"{seconds:.1f} s" for _, seconds in _of_large_changes("wall s", name))
        what = f"the same of local[2], {name}.txt has {', '.join(others)} and {last}"
        lines.append(f"{what:>78}  {message}")
    return "\n".join(lines)


def main() -> None:
    """Measure, simulate and report."""
    floors, told = measure()
    rng, calm = np.random.default_rng(14), Cluster(slow=0.0)
    kinds = [calm, Cluster(), Cluster(speculates=True), replace(calm, hot=0.01)]
    rows: list[list[object]] = []
    for shards in (400, 1600, 6400, 25_600):
        for changed in (1e4, 1e6, 1e8, 1e10):
            found = []
            for cluster in kinds:
                runs = RUNS if shards < 6400 else 3
                found.append(statistics.mean(simulate(floors, cluster, shards, changed, rng) for _ in range(runs)))
            per_shard = f"{1e12 / shards:,.0f}"
            letters = f"{changed * floors.letter / 2**30:,.3g}"
            rows.append([f"{shards:,}", per_shard, f"{changed:,.0f}", *(f"{s:,.1f}" for s in found), letters])
    header = [
        "shards",
        "rows in a shard",
        "changed rows",
        "calm s",
        "stragglers",
        "speculated",
        "hot key",
        "letters GiB",
    ]
    cluster = Cluster()
    notes = NOTES.format(**{**vars(cluster), "launch": floors.launch * 1e3, "runs": f"{RUNS} (or 3)"})
    measured = "\n".join(f"{what:>78}  {value}" for what, value in told)
    title = (
        f"A refresh of a view over 10^12 rows on {cluster.executors} executors, simulated from what is measured here"
    )
    report("scale", title, header, rows, f"{measured}\n{_checked(floors, rng)}\n\n{notes}")


if __name__ == "__main__":
    main()
