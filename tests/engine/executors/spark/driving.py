"""What the process of a driver does in the tests of a cluster: epochs as jobs, beside the reference engine.

Tasks can be troubled: one of them waits, fails or is slow in its first attempt, before or behind its work.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import deltic
from deltic.engine.executors.placed import RoundsChoice
from deltic.engine.executors.shards.files import DESCRIPTIONS, MESSAGES, RUNS, files_of, read_description
from deltic.engine.executors.shards.messages import DIRECT, Message
from deltic.engine.executors.shards.tasks import Task
from deltic.engine.executors.spark import costs
from deltic.engine.executors.spark.job import run_job
from tests.engine.executors.spark.engines import FEW

PROGRAM = """
    .decl follows(who: number, whom: number) .input follows
    .decl likes(who: number, what: symbol) .input likes
    .decl reaches(x: number, y: number)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
    .decl linked(x: number, y: number)
    linked(x, y) :- follows(x, y), x < 8, y < 8.
    linked(x, z) :- linked(x, y), linked(y, z).
    .decl hears(who: number, what: symbol)
    hears(who, what) :- follows(who, other), likes(other, what).
"""
FANS = """
    CREATE VIEW fans AS
        SELECT whom, count(*) AS n, min(what) AS first FROM follows JOIN likes USING (who) GROUP BY whom
"""
Change = dict[str, set[tuple[object, ...]]]
VIEWS = ("reaches", "linked", "hears", "fans")
NODES, SHARDS = 14, 2


@dataclass(frozen=True)
class Trouble:
    """What happens to the first attempt of the first shard's task of a stage, the last one if it is -1.

    `folder` gets a file for each attempt.
    """

    folder: Path
    what: Literal["waits", "fails", "is slow"]
    stage: int = -1
    is_done: bool = False
    """Whether it happens when all is done and nothing is told yet."""
    job: str = ""
    """A part of what the job is called that has it."""


@dataclass(frozen=True)
class Troubled:
    """A task with a trouble."""

    task: Task
    trouble: Trouble

    def __call__(self, messages: Iterable[Message]) -> Iterator[Message]:
        received = list(messages)
        stage = self.trouble.stage % len(self.task.plan.stages)
        first = stage == self.task.stage and received and received[0].shard == 0 and self._attempt() == 1
        if first and not self.trouble.is_done:
            self._happen()
        sent = list(self.task(received))
        if first and self.trouble.is_done:
            self._happen()
        yield from sent

    def _attempt(self) -> int:
        """The number of this attempt, which is noted."""
        self.trouble.folder.mkdir(exist_ok=True)
        number = len(list(self.trouble.folder.iterdir())) + 1
        (self.trouble.folder / f"attempt {number}").touch()
        return number

    def _happen(self) -> None:
        match self.trouble.what:
            case "waits":
                time.sleep(120)
            case "is slow":
                time.sleep(15)
            case "fails":
                raise RuntimeError("an attempt that fails")


class World:
    """A pipeline whose epochs are jobs, and the reference that says what its views have to be."""

    def __init__(self, spark: object, folder: Path, state: Path | None = None, rounds: RoundsChoice = "auto") -> None:
        """Recursions that always take `rounds` take each of them as a job."""
        costs.FEW = -1  # small epochs are jobs, too
        shards = deltic.Shards(SHARDS, directory=folder, executor="job", rounds=rounds)
        self.few = 0 if rounds == "always" else FEW
        self.spark, self.chance = spark, random.Random(7)
        self.pipeline = deltic.Pipeline(spark, engine="spark", shards=shards, state=state)
        self.reference = deltic.Pipeline(engine="reference")
        self.rows: Change = {"follows": set(), "likes": set()}
        for pipeline in (self.pipeline, self.reference):
            if "follows" not in pipeline:
                pipeline.datalog(PROGRAM)
                pipeline.sql(FANS)

    @property
    def engine(self):
        """The engine on Spark, which the one that places epochs has."""
        return self.pipeline._epochs.engine.executor.there

    def change(self) -> Change:
        """Some rows of each table, which come if they are not there, and go otherwise."""
        drawn = self.chance.randrange
        return {
            "follows": {(drawn(NODES), drawn(NODES)) for _ in range(9)},
            "likes": {(drawn(NODES), f"thing {drawn(5)}") for _ in range(5)},
        }

    def epoch(self, trouble: Trouble | None = None) -> dict[str, object]:
        """Apply one change to both; how they differ then, which is not at all."""
        self.work_with(trouble)
        rows = self.change()
        self.apply(self.pipeline, rows)
        self.change_reference(rows)
        return self.differences()

    def work_with(self, trouble: Trouble | None) -> None:
        """Let the next jobs have a trouble, and all their rows in files; without one few rows have none."""
        job = partial(run_job, self.spark)
        self.engine.holder.direct, self.engine.holder.few = 0 if trouble else DIRECT, self.few
        self.engine.holder.run_tasks = partial(_troubled_job, job, trouble) if trouble else job

    def change_reference(self, rows: Change | None = None) -> None:
        """Let the reference have a change."""
        rows = rows or self.change()
        self.apply(self.reference, rows)
        for table, those in rows.items():
            self.rows[table] ^= those

    def apply(self, pipeline: deltic.Pipeline, rows: Change) -> None:
        with pipeline.transaction() as change:
            for table, those in rows.items():
                change.delete(table, sorted(those & self.rows[table]))
                change.insert(table, sorted(those - self.rows[table]))

    def differences(self) -> dict[str, object]:
        found = {}
        for name in (*self.rows, *VIEWS):
            here, there = (Counter(pipeline[name]) for pipeline in (self.pipeline, self.reference))
            if here != there:
                found[name] = (here - there, there - here)
        return found


def _troubled_job(job, trouble, messages, tasks, shards, what):
    return job(messages, [Troubled(task, trouble) for task in tasks] if trouble.job in what else tasks, shards, what)


_worlds: dict[Path, World] = {}


def _world(spark: object, folder: Path, rounds: RoundsChoice = "auto") -> World:
    if folder not in _worlds:
        _worlds[folder] = World(spark, folder, rounds=rounds)
        assert not _worlds[folder].epoch()
    return _worlds[folder]


def epochs(
    spark, folder: Path, count: int, trouble: Trouble | None = None, rounds: RoundsChoice = "auto"
) -> tuple[dict[str, object], int]:
    """Apply changes, the first one with a trouble: how the views differ, and how many files nobody needs."""
    world = _world(spark, folder, rounds)
    found = {}
    for number in range(count):
        found |= world.epoch(trouble if number == 0 else None)
    engine = world.engine
    states = set(engine.holder.states.values())
    named = {name for state in states for name in files_of(read_description(engine.holder.files, state))}
    there = {name for folder in (RUNS, DESCRIPTIONS, MESSAGES) for name in engine.holder.files.names(folder)}
    return found, len(there - named - states)


def refused(spark, folder: Path, trouble: Trouble | None = None) -> tuple[str, float, dict[str, object]]:
    """The error of an epoch that cannot be, after how many seconds, and how the state differs from that of before."""
    world = _world(spark, folder)
    started = time.monotonic()
    try:
        world.work_with(trouble)
        world.apply(world.pipeline, world.change())
    except deltic.DelticError as error:
        return str(error), time.monotonic() - started, world.differences()
    return "", 0.0, {}


def refused_frame(spark) -> tuple[str, int]:
    """The error of a DataFrame that nobody can compute, into a pipeline of this process, and its rows then."""
    pipeline = deltic.Pipeline(spark, engine="local")
    pipeline.sql("CREATE TABLE told (x BIGINT)")
    try:
        with pipeline.transaction() as change:
            change.insert("told", spark.range(3).toDF("x"))
    except deltic.DelticError as error:
        return str(error), len(pipeline["told"])
    return "", len(pipeline["told"])


def insert_frame(spark, folder: Path) -> None:
    """Insert the rows of a DataFrame."""
    pipeline = _world(spark, folder).pipeline
    pipeline.sql("CREATE TABLE told (x BIGINT)")
    with pipeline.transaction() as change:
        change.insert("told", spark.range(3).toDF("x"))


def descriptions(spark) -> list[str]:
    """What Spark's pages call its jobs, the last ones first."""
    url = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}/jobs"
    with urllib.request.urlopen(url) as answer:
        return [job.get("description", job["name"]) for job in json.load(answer)]


def die(spark, folder: Path, is_logged: bool) -> None:
    """Apply an epoch, and another one that this process does not survive: it is killed before or behind its record."""
    world = World(spark, folder / "shards", folder / "state")
    world.epoch()
    log = world.pipeline._epochs._log

    def last(*args: object) -> None:
        if is_logged:
            log(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    world.pipeline._epochs._log = last
    world.epoch()


def go_on(spark, folder: Path, number: int) -> tuple[int, dict[str, object], dict[str, object]]:
    """Open what a process has left, to which so many epochs were told.

    Its epoch, how it differs from what they make, and how it does after one more.
    """
    world = World(spark, folder / "shards", folder / "state")
    for _ in range(number):
        world.change_reference()
    return world.pipeline.epoch, world.differences(), world.epoch()
