"""An epoch as one Spark job: a stage of the plan is a `mapInArrow`, an exchange a `repartitionById` by shard.

Rows of the DataFrame are messages, so all stages have one schema, and one action returns all results. Only public
functions of DataFrames are used, so it also runs on Spark Connect.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.engine.executors.shards.messages import DRIVER, Message
from deltic.engine.executors.shards.tasks import RunTask, Task, run_by_shard
from deltic.engine.executors.spark.job_descriptions import described
from deltic.engine.executors.spark.stalled_jobs import watched
from deltic.errors import DelticError
from deltic.passwords import cause

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A task over rows in batches.
Over = Callable[[Iterable[pa.RecordBatch]], Iterator[Message]]

_COLUMNS = {
    "shard": (pa.int32(), "int"),
    "stage": (pa.int32(), "int"),
    "target": (pa.string(), "string"),
    "content": (pa.binary(), "binary"),
    "file": (pa.string(), "string"),
    "start": (pa.int64(), "long"),
    "size": (pa.int64(), "long"),
    "checksum": (pa.int64(), "long"),
}
"""The fields of a message, with their types for Arrow and for Spark."""
_SCHEMA = pa.schema([(name, arrow) for name, (arrow, _) in _COLUMNS.items()])
_SPARK_SCHEMA = ", ".join(f"{name} {spark}" for name, (_, spark) in _COLUMNS.items())
# Adaptive execution runs each stage as a job of its own, and may put several shards into one task.
_SETTINGS = {"spark.sql.adaptive.enabled": "false"}
# The prefixes of lines of Java's traces that only name a location.
_FRAME = ("at ", "... ")
# Marks another error than that of the lines before.
_SUPPRESSED = "Suppressed: "
# Java's message if Spark's own files find no room, and Spark's message with the host.
_FULL, _LOST = "java.io.IOException: No space left on device", re.compile(r"Lost task .*?\((\S+) executor ")
# Python's message if Spark's processes run an installation without Deltic, and the remedy.
_ELSEWHERE = re.compile(r"ModuleNotFoundError: No module named '(?:deltic|numba|numpy|pandas|pyarrow)\b[^']*'")
NEEDED = (
    f"Spark's Python processes need Deltic: start the session with PYSPARK_PYTHON={sys.executable} in the environment, "
    "and on a cluster install it there"
)
# Spark's message if an executor is lost after some results of its messages were produced. The job
# is run again: the names of the files that its tasks wrote are not published.
_GIVEN_UP = "A shuffle map stage with indeterminate output was failed and retried"
# The tasks of a stage for each that runs at once: more are slower to start, and fewer wait longer for the slowest.
TASKS_A_SLOT = 2
# The size of a batch of messages before it is passed on, in bytes.
_BATCH = 1 << 24


def run_job(
    spark: SparkSession,
    messages: Sequence[Message],
    tasks: Sequence[Task],
    shards: int,
    what: str,
    slots: Callable[[], int] | None = None,
) -> Iterator[Message]:
    """Run a job, and return the messages for the driver; `tasks` are the stages in order, `what` names the job in
    Spark's UI.

    If Spark runs only `slots()` tasks at once, its tasks have several shards each, one after the other. 1 is for a
    session that does not say how many. Raises DelticError if the job fails, or no executor runs it.
    """
    at_once = 1 if slots is None else slots()
    parts = shards if at_once == 1 else min(shards, TASKS_A_SLOT * at_once)
    with (
        _raised_in_one_line("the Spark job of the epoch failed, and nothing was changed"),
        described(spark, what),
        watched(spark),
    ):
        try:
            result = _found(spark, messages, tasks, parts)
        except Exception as error:
            if _GIVEN_UP not in str(error):
                raise
            result = _found(spark, messages, tasks, parts)
    return _letters(result.to_batches())


@contextmanager
def _raised_in_one_line(what: str) -> Iterator[None]:
    """Raise Spark's errors as DelticError, in one line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, DelticError) as error:
        raise DelticError(f"{what}: {reason_of(str(error))}") from shown_trace(error)


def shown_trace(error: BaseException) -> BaseException | None:
    """Return the error whose trace is printed above ours: Spark's, of hundreds of lines, if DELTIC_DEBUG is set.

    Otherwise it stays the `__context__` of ours, which Python does not print.
    """
    whole = cause(error)
    return whole if os.environ.get("DELTIC_DEBUG") else None


def reason_of(message: str) -> str:
    """Return the reason in Spark's report of a failed job, in one line."""
    if _FULL in message and (lost := _LOST.search(message)):
        return (
            f"the disk of {lost[1]} is full where Spark keeps there what tasks send each other: make room, or name "
            "other directories, SPARK_LOCAL_DIRS of the worker or spark.local.dir"
        )
    if missing := _ELSEWHERE.search(message):
        return f"{missing[0]}; {NEEDED}"
    lines = [line.strip().removeprefix(_SUPPRESSED) for line in message.splitlines()]
    told = [line for line in lines if line and not line.startswith(_FRAME)]
    if not told:
        return "no reason was given"
    if told[0].startswith("["):  # Spark's name of the error; the lines after it show the query
        return told[0]
    return told[-1].removeprefix("Caused by: ").removeprefix(": ")


def _found(spark: SparkSession, messages: Sequence[Message], tasks: Sequence[Task], parts: int) -> pa.Table:
    """Return the driver's messages of the job, whose stages have this many tasks of Spark."""
    from pyspark.sql import functions as F

    with _settings(spark):
        frame = spark.createDataFrame(pa.Table.from_batches([_batch(messages)]), _SPARK_SCHEMA)
        for task in tasks:
            spread = frame.repartitionById(parts, F.col("shard") % parts)
            frame = spread.mapInArrow(partial(_over_batches, task), _SPARK_SCHEMA)
        return frame.where(f"stage = {DRIVER}").toArrow()


def run_over(frame: DataFrame, task: Over, what: str) -> list[Message]:
    """Run a task over each part of a DataFrame, as one job. Return its messages, which are for the driver.

    Columns travel under numbers: PySpark takes the column `net.price` for a field of `net`. Raises the errors of
    `collected`.
    """
    numbered = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    made = numbered.mapInArrow(partial(_over_named, frame.columns, task), _SPARK_SCHEMA)
    return list(_letters(collected(made, what).to_batches()))


def collected(frame: DataFrame, what: str) -> pa.Table:
    """Return the rows of a DataFrame, by a job that Spark's UI calls `what`, unless it is part of another.

    Raises Spark's errors, and DelticError if no executor runs it, or Spark's processes lack Deltic.
    """
    spark = frame.sparkSession
    with _by_deltic(what), described(spark, what, is_part=True), watched(spark):
        return frame.toArrow()


@contextmanager
def _by_deltic(what: str) -> Iterator[None]:
    """Raise DelticError if Spark's processes lack Deltic."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if _ELSEWHERE.search(str(error)):
            raise DelticError(f"{what}: {reason_of(str(error))}") from shown_trace(error)
        raise


def run_each(spark: SparkSession, tasks: Sequence[Callable[[], Iterable[Message]]], what: str) -> list[Message]:
    """Run each task once, all in one job, and return their messages. DelticError if the job fails."""
    with _raised_in_one_line(f"the Spark job of the {what} failed, and nothing was changed"):
        return run_over(spark.range(0, len(tasks), 1, len(tasks)), partial(_each, tasks), what)


def _each(tasks: Sequence[Callable[[], Iterable[Message]]], batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """Run the tasks with these numbers, and yield their messages."""
    return (message for batch in batches for number in batch.column(0).to_pylist() for message in tasks[number]())


def _over_batches(task: RunTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a task over the messages of a partition, for one shard after the other."""
    return _batched(lambda batches: run_by_shard(task, _letters(batches)), batches)


def _over_named(names: list[str], task: Over, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a task over batches whose columns get these names."""
    return _batched(task, (batch.rename_columns(names) for batch in batches))


def _batched(task: Over, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a task as Spark's batches."""
    waiting: list[Message] = []
    size = 0
    for message in task(batches):
        waiting.append(message)
        size += len(message.content)
        if size >= _BATCH:
            yield _batch(waiting)
            waiting, size = [], 0
    yield _batch(waiting)
    # Spark's workers collect garbage after each task: 50 ms for the modules that are loaded, unless those are left out.
    if not gc.get_freeze_count():
        gc.freeze()


def _letters(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    for batch in batches:
        yield from (Message(*row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _batch(messages: Sequence[Message]) -> pa.RecordBatch:
    rows = [tuple(getattr(message, name) for name in _COLUMNS) for message in messages]
    columns = list(zip(*rows, strict=True)) or [()] * len(_SCHEMA)
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    """Make Spark run the actions of this block as one job each."""
    before = {name: spark.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)
