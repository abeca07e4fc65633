"""The names of Deltic's jobs in Spark's UI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Get = Callable[[], str | None]
_Put = Callable[[str | None], None]
_DESCRIPTION = "spark.job.description"
# The most views that a description names.
NAMED = 3


@contextmanager
def described(spark: SparkSession, what: str, is_part: bool = False) -> Iterator[None]:
    """Name the jobs of this block `what` in Spark's UI. If it `is_part` of another job, keep that one's name.

    A session of Spark Connect has no job descriptions; its server uses the setting of that name instead.
    """
    get, put = _in_settings(spark) if is_connect(spark) else _in_thread(spark)
    before = get()
    put(before or what if is_part else what)
    try:
        yield
    finally:
        put(before)


def _in_settings(spark: SparkSession) -> tuple[_Get, _Put]:
    """Return how to read and write the description as a setting of the session."""

    def put(what: str | None) -> None:
        spark.conf.unset(_DESCRIPTION) if what is None else spark.conf.set(_DESCRIPTION, what)

    return lambda: spark.conf.get(_DESCRIPTION, None), put


def _in_thread(spark: SparkSession) -> tuple[_Get, _Put]:
    """Return how to read and write the description as a property of this thread."""
    context = spark.sparkContext
    return lambda: context.getLocalProperty(_DESCRIPTION), lambda what: context.setLocalProperty(_DESCRIPTION, what)


def is_connect(of_spark: object) -> bool:
    """Return whether a session or DataFrame belongs to Spark Connect."""
    return type(of_spark).__module__.startswith("pyspark.sql.connect")
