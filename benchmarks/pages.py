"""What Spark did for a piece of work, as its own pages tell it: jobs, stages, tasks, and what went between stages."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from deltic.pipeline.spark.session import spark_session


@contextmanager
def session(cores: int, memory: str = "4g") -> Iterator[SparkSession]:
    """A session of this machine as `deltic run` starts them, but with pages."""
    with spark_session(f"local[{cores}]", memory, {"spark.ui.enabled": "true", "spark.ui.port": "0"}) as spark:
        yield spark


@dataclass
class Work:
    """What Spark did."""

    wall: float
    jobs: int
    stages: int
    tasks: int
    rows: int
    """Sent from stage to stage."""
    sent: int
    """Bytes of these."""
    written: int
    """Bytes of files that Spark itself has written."""
    busy: float
    """Seconds of all tasks together."""
    slowest: float


_SUMS = ("numCompleteTasks", "shuffleReadRecords", "shuffleReadBytes", "outputBytes")


def measured(spark: Any, run: Callable[[], object]) -> Work:
    """Run something, and read from Spark's pages what it took."""
    before = {job["jobId"] for job in _pages(spark, "jobs")}
    started = time.perf_counter()
    run()
    wall = time.perf_counter() - started
    time.sleep(0.3)  # the pages are a little behind
    jobs = [job for job in _pages(spark, "jobs") if job["jobId"] not in before]
    wanted = {stage for job in jobs for stage in job["stageIds"]}
    stages = [s for s in _pages(spark, "stages") if s["stageId"] in wanted and s["status"] == "COMPLETE"]
    tasks, rows, sent, written = (sum(stage[what] for stage in stages) for what in _SUMS)
    longest = max((_longest(spark, stage) for stage in stages), default=0.0)
    busy = sum(stage["executorRunTime"] for stage in stages) / 1000
    return Work(wall, len(jobs), len(stages), tasks, rows, sent, written, busy, longest)


def _longest(spark: Any, stage: Any) -> float:
    tasks = _pages(spark, f"stages/{stage['stageId']}/{stage['attemptId']}/taskList?length=1000")
    return max((task.get("duration", 0) for task in tasks), default=0) / 1000


def _pages(spark: Any, what: str) -> Any:
    context = spark.sparkContext
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}") as answer:
        return json.load(answer)
