"""What Spark's pages call the jobs of Deltic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Get = Callable[[], str | None]
_Put = Callable[[str | None], None]
_DESCRIPTION = "spark.job.description"
# How many views a description names.
_NAMED = 3


@contextmanager
def described(spark: SparkSession, what: str, is_part: bool = False) -> Iterator[None]:
    """Let Spark's pages call the jobs of this block `what`; one that `is_part` of others is called as they are.

    A session of Spark Connect has no job descriptions; its server takes the setting of that name for one.
    """
    get, put = _in_settings(spark) if is_connect(spark) else _in_thread(spark)
    before = get()
    put(before or what if is_part else what)
    try:
        yield
    finally:
        put(before)


def _in_settings(spark: SparkSession) -> tuple[_Get, _Put]:
    """How a description is got and put as a setting of the session."""

    def put(what: str | None) -> None:
        spark.conf.unset(_DESCRIPTION) if what is None else spark.conf.set(_DESCRIPTION, what)

    return lambda: spark.conf.get(_DESCRIPTION, None), put


def _in_thread(spark: SparkSession) -> tuple[_Get, _Put]:
    """How it is got and put as a property of this thread."""
    context = spark.sparkContext
    return lambda: context.getLocalProperty(_DESCRIPTION), lambda what: context.setLocalProperty(_DESCRIPTION, what)


def is_connect(of_spark: object) -> bool:
    """Whether a session or DataFrame is of Spark Connect."""
    return type(of_spark).__module__.startswith("pyspark.sql.connect")


def some_of(names: Sequence[str]) -> str:
    """Names for a description, the first few of many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
