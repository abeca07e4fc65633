"""Spark's DataStreamWriter, with the output modes that a table can take."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from deltic.errors import StreamError


class TableWriter(DataStreamWriter):
    """A DataStreamWriter of rows that are changes: each is given once.

    `has_signs`: they say of themselves whether they come or go.
    """

    def __init__(self, frame: DataFrame, has_signs: bool) -> None:
        super().__init__(frame)
        self._has_signs = has_signs

    def outputMode(self, outputMode: str) -> DataStreamWriter:
        """As Spark's; raises StreamError for a mode in which rows would come that have come before."""
        if outputMode == "complete":
            raise StreamError(
                'outputMode("complete") gives all rows again in each batch, and a table takes changes: use "update" '
                "with a column op that is u, into a table with a key; or let a view of Deltic aggregate"
            )
        if outputMode == "update" and not self._has_signs:
            raise StreamError(
                'outputMode("update") gives rows in place of others, and nothing says so: add a column op that is u, '
                'as in df.withColumn("op", lit("u")), for a table with a key; or let a view of Deltic aggregate'
            )
        return super().outputMode(outputMode)
