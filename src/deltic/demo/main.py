"""`deltic demo`: derive what follows from Python code, edit the code, and keep what follows fresh."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console

from deltic.demo.chart import draw_chart
from deltic.demo.epochs import DemoEpoch, medians_of_small_edits
from deltic.demo.extract import SourceFile, facts_of
from deltic.demo.replay import Replay
from deltic.demo.report import WIDE, Report
from deltic.demo.spark_facts import fact_batch, parse_tree
from deltic.demo.spark_views import QUERIES, recompute_in_spark
from deltic.demo.subject import Subject, history, standard_library
from deltic.demo.tree import Edit, Tree
from deltic.demo.verify import ViewDifference, differences
from deltic.errors import DelticError
from deltic.pipeline.engines import EngineName
from deltic.pipeline.spark.session import require_java, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.pipeline.session import Pipeline

RECOMPUTATION_BUDGET = 60.0
"""Seconds for measuring recomputation: at every epoch when that suffices, else at some of them and the last."""

_ROWS_PER_FILE = 500_000


def run(
    repo: str | None = None,
    out: str = "demo-out",
    commits: int = 30,
    json: bool = False,
    master: str = "local[*]",
    engine: EngineName = "auto",
) -> int:
    """Runs the demonstration; the result is the exit status.

    The edits are those of the standard library's scenario, or the last `commits` commits of the repository at
    `repo`. Views and chart go to the folder `out`. With `json`, one JSON document on standard output takes the place
    of the report. With the engine "spark" the views are on shards, and updates are measured against Spark's own
    recomputation of those views that its SQL can say. 1 when the final check finds a difference or something that is
    needed is missing.
    """
    console = Console(quiet=json, width=None if sys.stdout.isatty() else WIDE, highlight=False)
    try:
        require_java()
        Path(out).mkdir(parents=True, exist_ok=True)
        subject = history(Path(repo), commits) if repo is not None else standard_library()
        demo = Demo(subject, Path(out), Report(console), engine)
        demo.run(master)
    except (DelticError, OSError) as error:
        print(f"deltic demo: {error}", file=sys.stderr)
        return 1
    if json:
        print(json_text.dumps(demo.summary(), indent=2))
    return 1 if demo.differences else 0


class Demo:
    """One run: its subject, where its results go, and what has come of it so far."""

    def __init__(self, subject: Subject, out: Path, report: Report, engine: EngineName = "auto") -> None:
        self.subject = subject
        self.out = out
        self.report = report
        self.engine = engine
        self.epochs: list[DemoEpoch] = []
        self.differences: list[ViewDifference] = []
        self.started = perf_counter()

    def run(self, master: str) -> None:
        """From reading the files to the final check; the compiler of the engine's loops works meanwhile."""
        self.report.opening(self.subject.name, len(self.subject.tree.modules), self.subject.count, self._compared)
        with ThreadPoolExecutor(max_workers=1) as pool, ExitStack() as stack:
            compiled = pool.submit(warm_up)
            with self.report.working("Spark starts"):
                spark = stack.enter_context(active_or_new_session(master))
            facts = self.read_files(spark)
            with self.report.working("compiling the engine's loops, once for this machine"):
                compiled.result()
            replay = Replay(spark, self.subject.tree, facts, self.engine)
            self.follow(replay)
            self.write(replay.pipeline)
        self.conclude(replay.pipeline)

    def read_files(self, spark: SparkSession) -> pa.Table:
        """Return the facts of all files, by a Spark job."""
        start = perf_counter()
        with self.report.working("Spark reads and parses the files"):
            facts = parse_tree(spark, self.subject.tree)
        seconds = perf_counter() - start
        self.report.say(f"Spark read and parsed them in {seconds:.1f} s: {facts.num_rows:,} facts.")
        return facts

    def follow(self, replay: Replay) -> None:
        """The initial evaluation and every edit, each compared with recomputation as the budget allows."""
        self.report.header()
        with self.report.working("deriving everything for the first time"):
            first = replay.start()
        self.add(first)
        for number, edit in enumerate(self.subject.edits, 1):
            epoch = replay.apply(number, edit)
            self.add(self.compare(replay, epoch) if self.affords_recomputation(number) else epoch)

    def affords_recomputation(self, number: int) -> bool:
        """Return whether another recomputation fits the part of the budget that falls to the epochs so far."""
        spent = [epoch.recomputation for epoch in self.epochs if epoch.recomputation is not None]
        expected = sum(spent) + (spent[-1] if spent else self.epochs[0].update)
        return number == self.subject.count or expected <= RECOMPUTATION_BUDGET * number / self.subject.count

    def add(self, epoch: DemoEpoch) -> None:
        """Records and prints an epoch."""
        self.epochs.append(epoch)
        self.report.epoch(epoch)

    @property
    def _compared(self) -> Sequence[str]:
        """The views that Spark recomputes, for comparison; none where Deltic does, all of them."""
        return list(QUERIES) if self.engine == "spark" else []

    def compare(self, replay: Replay, epoch: DemoEpoch) -> DemoEpoch:
        """Return the epoch with the time of a recomputation, with which the views must agree: after the last edit row
        by row, before that in their sizes. It is Spark's of its views, or Deltic's of all; the last one is both.
        """
        is_last = epoch.number == self.subject.count
        measured: list[float] = []
        with self.report.working(f"epoch {epoch.number}: recomputing from scratch, for comparison"):
            if self._compared:
                assert replay.pipeline.spark is not None
                tables = replay.tables.tables()
                seconds, result = recompute_in_spark(replay.pipeline.spark, tables, replay.pipeline, every_row=is_last)
                measured.append(seconds)
                self.differences += result
            if is_last or not measured:
                fresh, seconds = replay.recompute()
                measured.append(seconds)
                self.differences += differences(replay.pipeline, fresh, every_row=is_last)
        return replace(epoch, recomputation=measured[0])

    def write(self, pipeline: Pipeline) -> None:
        """The views as Parquet, by Spark, in few files: each costs it more than its rows do; and the chart."""
        for view in pipeline.views:
            with self.report.working(f"Spark writes {view}"):
                frame = pipeline[view].to_spark().coalesce(1 + len(pipeline[view]) // _ROWS_PER_FILE)
                frame.write.mode("overwrite").parquet(str(self.out / "views" / view))
        title = f"Keeping {len(pipeline.views)} views of {self.subject.name} fresh: update against recomputation"
        by_spark = f"Spark's recomputation of {len(self._compared)} of them"
        label = by_spark if self._compared else "recomputation from scratch"
        draw_chart(self.epochs, title, self.out / "chart.png", label)

    def conclude(self, pipeline: Pipeline) -> None:
        """The last lines: medians, what the check found, where the results are."""
        medians = medians_of_small_edits(self.epochs)
        if medians is not None:
            self.report.medians(medians)
        rows = sum(len(pipeline[view]) for view in pipeline.views)
        if self.differences:
            self.report.differences(self.differences)
        else:
            self.report.say(f"Checked row by row: all {len(pipeline.views)} views, {rows:,} rows, equal recomputation.")
        self.report.say(f"Views: {self.out / 'views'} (Parquet)   chart: {self.out / 'chart.png'}")
        self.report.say(f"All of it took {perf_counter() - self.started:.0f} s.")

    def summary(self) -> dict[str, object]:
        """Return the run for machines: times in seconds."""
        medians = medians_of_small_edits(self.epochs)
        return {
            "subject": self.subject.name,
            "engine": self.engine,
            "recomputed by Spark": self._compared,
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "medians": asdict(medians) if medians is not None else None,
            "differences": [str(result) for result in self.differences],
            "views": str(self.out / "views"),
            "chart": str(self.out / "chart.png"),
        }


@contextmanager
def active_or_new_session(master: str) -> Iterator[SparkSession]:
    """The caller's session where there is one, as in a notebook; else one of its own, stopped after the block.

    Raises DelticError when Java is missing or the session does not start.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
    else:
        with spark_session(master) as session:
            yield session


def warm_up() -> None:
    """Run the demonstration's program through some epochs: the first on a machine compiles all kernels."""
    source = SourceFile("a.py", "a", b"def f(): return g()\ndef g(): return f()\nf()")
    tree = Tree({source.file: source.text})
    replay = Replay(None, tree, pa.Table.from_batches([fact_batch(source.module, facts_of(source))]))
    replay.start()
    for number in range(1, 5):
        replay.apply(number, Edit("f comes and goes", {source.file: source.text if number % 2 else b""}))
