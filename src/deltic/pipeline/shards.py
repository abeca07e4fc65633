"""How shards split tables and views, and where their files are."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from deltic.engine.executors.placed import CopiesChoice, RoundsChoice
from deltic.engine.executors.spark.job_descriptions import is_connect
from deltic.engine.files.address import absolute, files_at
from deltic.engine.resources import available, bytes_of
from deltic.errors import DelticError
from deltic.pipeline.names import check_choice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.engine.files.files import Files

ExecutorName = Literal["auto", "process", "job"]


@dataclass(frozen=True)
class Shards:
    """The shards of a pipeline with engine="spark" or "auto": `count` of them, each with its part of all rows.

    A transaction runs in this process or as one Spark job: `executor` is "process", "job", or "auto", the one that is
    expected to be quicker, and a job where the state would outgrow this process's memory. A job leaves small changes
    to this process. They share the files in `directory`, which every executor must see under that name; where Spark
    runs on this machine alone, the default is a temporary directory.

    A recursion that preserves no key runs on one shard, or on all of them in `rounds`: "always", "never", or "auto",
    once it exceeds `task_memory`, bytes or "2 GiB". Its default is half of a task's share of the executor's memory.
    With `copies="auto"` every shard has a copy of each small table and view.
    """

    count: int = 8
    directory: str | Path | None = None
    executor: ExecutorName = "auto"
    rounds: RoundsChoice = "auto"
    task_memory: int | str | None = None
    copies: CopiesChoice = "auto"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DelticError(f"shards is {self.count}; it is a number of shards: 1 or more")
        check_choice(self.executor, "executor", get_args(ExecutorName))
        check_choice(self.rounds, "choice of rounds", get_args(RoundsChoice))
        check_choice(self.copies, "choice of copies", get_args(CopiesChoice))
        if self.task_memory is not None and not bytes_of(self.task_memory, "task_memory"):
            raise DelticError("task_memory is 0; it is what one task is to hold of a recursion: 1 byte or more")

    @classmethod
    def of(cls, given: Shards | int | None, engine: str, spark: SparkSession | None) -> Shards | None:
        """Return the shards of a pipeline; None where its state is never on shards.

        That is so for engines of one process, for "auto" without a session, and where the executors see no named
        directory. Raises DelticError for shards of another engine, for jobs without a session, and where a directory is
        missing.
        """
        if engine not in ("spark", "auto") or (engine == "auto" and spark is None):
            if given is not None:
                if engine == "auto":
                    raise DelticError(
                        'shards need engine "auto" with a Spark session, Pipeline(spark, shards=…), '
                        'or of engine="spark"'
                    )
                raise DelticError(f'shards need engine "spark", and engine is {engine!r}')
            return None
        shards = given if isinstance(given, Shards) else cls() if given is None else cls(given)
        if spark is None:
            if shards.executor == "job":
                raise DelticError('executor="job" needs a Spark session: Pipeline(spark, …) or --master')
            return replace(shards, executor="process")
        if shards.directory is None and not is_here(spark):
            if engine == "auto" and given is None:
                return None
            if shards.executor != "process":
                raise DelticError(
                    f"the executors of Spark ({_master(spark)}) may not see a temporary directory of this machine: "
                    "name one that they all see, Shards(directory=…) or --directory"
                )
        return shards

    def files(self) -> Files:
        """Return the files of the shards: in `directory`, or in a temporary directory that ends with this process."""

        if self.directory is not None:
            return files_at(absolute(self.directory))
        made = tempfile.mkdtemp(prefix="deltic-shards-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        return files_at(made)


def task_memory(shards: Shards, spark: SparkSession | None) -> int | None:
    """Return the bytes that one task is to hold of a recursion; None for any number, where there are no tasks.

    By default, half of what a task has: of the memory for Python in the session's settings, of this machine's,
    or as much as of the executor's heap.
    """
    if shards.task_memory is not None:
        return bytes_of(shards.task_memory, "task_memory")
    if spark is None or shards.executor == "process":
        return None
    at_once = int(spark.conf.get("spark.executor.cores", None) or 1)
    if (limit := spark.conf.get("spark.executor.pyspark.memory", None)) is not None:
        return _bytes_for_spark(limit) // at_once // 2
    if _master(spark).startswith("local"):
        return available() // slots(spark) // 2
    return _bytes_for_spark(spark.conf.get("spark.executor.memory", None) or "1g") // at_once // 2


def _bytes_for_spark(text: str) -> int:
    """Return the bytes of a setting of Spark, whose units are powers of two, and MiB where none is given."""
    number, unit = text.strip().lower().removesuffix("b"), "m"
    if not number[-1].isdigit():
        number, unit = number[:-1], number[-1]
    return int(number) << {"k": 10, "m": 20, "g": 30, "t": 40}[unit]


def slots(spark: SparkSession) -> int:
    """Return how many tasks run at once, as far as the session's settings or its executors say; 1 where they do not."""
    if (result := re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", _master(spark))) is not None:
        return (os.cpu_count() or 1) if result[1] == "*" else int(result[1] or 1)
    settings = {name: spark.conf.get(f"spark.{name}", None) for name in ("cores.max", *_EXECUTORS)}
    numbers = {name: int(value) for name, value in settings.items() if value is not None and value.isdecimal()}
    if not numbers and not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    executors = numbers.get("executor.instances", numbers.get("dynamicAllocation.maxExecutors", 1))
    return numbers.get("cores.max", executors * numbers.get("executor.cores", 1))


_EXECUTORS = ("executor.instances", "executor.cores", "dynamicAllocation.maxExecutors")


def _master(spark: SparkSession) -> str:
    return spark.conf.get("spark.master", None) or "elsewhere"


def is_here(spark: SparkSession) -> bool:
    """Return whether all tasks run on this machine."""
    return not is_connect(spark) and _master(spark).startswith("local")
