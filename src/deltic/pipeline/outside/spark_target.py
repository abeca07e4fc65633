"""Views as temporary views of a Spark session."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltic.errors import DelticError
from deltic.pipeline.outside.target import Mark, Shown, Written
from deltic.pipeline.spark.spark import active_session, spark_errors, to_dataframe


class SparkTarget:
    """A temporary view, which lasts as long as its session: it is made anew when the view has changed."""

    def __init__(self, name: str, spark: Any) -> None:
        self._name, self._spark = name, spark

    def mark(self) -> Mark | None:
        found = dict(_MARKS.get(id(active_session(self._spark)), {}))
        return found.get(self._name)

    def publish(self, shown: Shown, delta: pa.Table | None) -> Written:
        session = active_session(self._spark)
        marks = _MARKS.setdefault(id(session), {})
        is_same = delta is not None and not len(delta) and self._name in marks
        rows = 0
        if not is_same:
            found = shown.rows()
            rows = len(found)
            with spark_errors(lambda reason: DelticError(f"temporary view {self._name}: {reason}")):
                to_dataframe(session, found).createOrReplaceTempView(self._name)
        marks[self._name] = shown.mark
        return Written("unchanged" if is_same else "made anew", rows)


_MARKS: dict[int, dict[str, Mark]] = {}
"""What temporary views show, by their sessions and names."""
