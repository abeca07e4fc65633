"""The Spark session of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltic.pipeline.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
