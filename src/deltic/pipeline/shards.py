"""How engine="spark" splits tables and views, and where their files are."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from deltic.engine.spark.described import is_connect
from deltic.errors import DelticError
from deltic.pipeline.names import check_choice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ExecutorName = Literal["auto", "process", "job"]


@dataclass(frozen=True)
class Shards:
    """The shards of a pipeline with engine="spark": `count` of them, each with its part of all rows.

    A transaction is computed in this process, or as one Spark job: `executor` is "process", "job", or "auto", which
    takes a job where a million rows change, or where the state is more than four gigabytes. Jobs and this process share
    the files in `directory`, which every executor has to see under that name; where Spark runs on this machine alone, a
    temporary directory will do, and is the default.
    """

    count: int = 8
    directory: str | Path | None = None
    executor: ExecutorName = "auto"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DelticError(f"shards is {self.count}; it is a number of shards: 1 or more")
        check_choice(self.executor, "executor", get_args(ExecutorName))

    @classmethod
    def of(cls, given: Shards | int | None, engine: str, spark: SparkSession | None) -> Shards | None:
        """What a pipeline is given, with a directory where jobs may run; None where its engine is another one.

        Raises DelticError for shards of another engine, for jobs without a session, and where a directory is missing.
        """
        if engine != "spark":
            if given is not None:
                raise DelticError(f'shards are those of engine="spark", and engine is {engine!r}')
            return None
        shards = given if isinstance(given, Shards) else cls() if given is None else cls(given)
        if spark is None:
            if shards.executor == "job":
                raise DelticError('executor="job" needs a Spark session: Pipeline(spark, engine="spark", …)')
            return replace(shards, executor="process")
        if shards.executor == "process":
            return shards
        return replace(shards, directory=_address(shards.directory) if shards.directory else _temporary(spark))


def _address(place: str | Path) -> str:
    """The place as executors are told it, who work in other directories."""
    return str(place) if "://" in str(place) else str(Path(place).absolute())


def _temporary(spark: SparkSession) -> Path:
    """A directory that goes with this process; DelticError where executors run elsewhere."""
    master = spark.conf.get("spark.master", None) or "elsewhere"
    if is_connect(spark) or not master.startswith("local"):
        raise DelticError(
            f"the executors of Spark ({master}) may not see a temporary directory of this machine: name one that they "
            "all see, Shards(directory=…)"
        )
    made = Path(tempfile.mkdtemp(prefix="deltic-shards-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
