"""Views as temporary views of a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.errors import DelticError
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark
from deltic.pipeline.spark.spark import active_session, spark_errors, to_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkTarget:
    """A temporary view, which lasts as long as its session.

    It is rebuilt if the view has changed, or if the session has another or no view of that name.
    """

    def __init__(self, name: str, spark: Any) -> None:
        self._name, self._spark = name, spark

    def mark(self) -> TargetMark | None:
        mark, made = _MADE.get(self._name, (None, None))
        return mark if made is not None and self._shows(made) else None

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        if delta is not None and not len(delta):
            _MADE[self._name] = shown.mark, _MADE[self._name][1]
            return PublishedRows("unchanged")
        result, session = shown.rows(), active_session(self._spark)
        with spark_errors(lambda reason: DelticError(f"temporary view {self._name}: {reason}")):
            made = to_dataframe(session, result)
            made.createOrReplaceTempView(self._name)
        _MADE[self._name] = shown.mark, made
        return PublishedRows("rebuilt", len(result))

    def _shows(self, made: DataFrame) -> bool:
        """Return whether the session still has this view: it may have been dropped or replaced."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        session = active_session(self._spark)
        try:
            return session.table(self._name).sameSemantics(made)
        except (PySparkException, Py4JError):
            return False


_MADE: dict[str, tuple[TargetMark, DataFrame]] = {}
"""The last view made under each name, in some session, with its mark."""
