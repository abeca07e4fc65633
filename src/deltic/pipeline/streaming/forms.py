"""The forms in which a streaming DataFrame encodes changes: insertions, signed rows, envelopes, records of Kafka."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.engine.batches import Changed, with_weights
from deltic.engine.keyed import Keyed, check_order
from deltic.errors import DataError, Diagnostic, StreamError, did_you_mean
from deltic.pipeline.io.envelopes import PARTS, are_envelopes
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.rounding import RoundedValues, Rounding
from deltic.pipeline.rows.coerce import columns_needed, to_table
from deltic.pipeline.rows.posting import Sites, TaskReader, posted_by
from deltic.pipeline.spark.spark import arrow_schema_of, from_dataframe, quoted, spark_errors
from deltic.pipeline.streaming.rejected import RejectedRow, sorted_out

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KAFKA = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
_KAFKA_ORDER = ("topic", "partition", "offset")
_DIGEST = "__digest__"


class StreamKind(enum.Enum):
    """What the rows of a stream are."""

    ROWS = "rows that come"
    CHANGES = "rows with a sign, or envelopes"
    RECORDS = "records of Kafka, whose values are changes as JSON"


@dataclass(frozen=True)
class ReadBatch:
    """A batch: changes of the table, its number of rows, their digest, those that do not fit, and rounded values."""

    changes: Changed
    rows: int
    digest: int
    rejected: Sequence[RejectedRow] = ()
    rounded: Mapping[str, RoundedValues] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamForm:
    """How the rows of one stream are read: the columns that are needed, and those that tell their order.

    `digest` is the SQL of a hash of each row. What is read is said as SQL, in one call: Spark is asked by a message for
    each part of a Column, and some dozens of them take longer than a small batch.
    """

    table: CatalogTable
    kind: StreamKind
    columns: tuple[str, ...]
    order: tuple[str, ...]
    digest: str
    coerce: bool = False

    @classmethod
    def of(cls, frame: DataFrame, table: CatalogTable, order: Sequence[str], coerce: bool = False) -> StreamForm:
        """Return the form of a DataFrame; raises DataError, with the nearest names, where its columns are not the
        table's.

        Raises StreamError where those that tell the order are not there.
        """
        layout = FileLayout(table.schema, signed=True, key=table.key)
        names = frame.columns
        with spark_errors(lambda reason: StreamError(f"table {table.name}, order={list(order)}: {reason}")):
            frame.select(*order)
        if "value" in names and set(names) <= set(_KAFKA) and "value" not in table.schema.names:
            _check_texts(frame, table)
            columns = [name for name in _KAFKA_ORDER if name in names]
            return cls._of(frame, table, StreamKind.RECORDS, ["value"], order or columns, coerce)
        if are_envelopes(names, layout):
            _check_envelopes(frame, table)
            return cls._of(frame, table, StreamKind.CHANGES, [part for part in PARTS if part in names], order, coerce)
        signs = layout.sign_columns
        is_signed = any(name in names for name in signs)
        rest = frame.drop(*(name for name in order if name not in (*table.schema.names, *signs)))
        needed = columns_needed(table.name, table.schema, arrow_schema_of(rest), is_signed, table.key, coerce)
        return cls._of(frame, table, StreamKind.CHANGES if is_signed else StreamKind.ROWS, needed, order, coerce)

    @classmethod
    def _of(
        cls,
        frame: DataFrame,
        table: CatalogTable,
        kind: StreamKind,
        columns: Sequence[str],
        order: Sequence[str],
        coerce: bool,
    ) -> StreamForm:
        return cls(table, kind, tuple(columns), tuple(order), _digest(frame, columns), coerce)

    def read(self, frame: DataFrame, sites: Sites, sorts_out: bool) -> ReadBatch:
        """Return a batch as changes of the table; raises DataError, unless it `sorts_out` rows that do not fit.

        This is one job. Tasks may write the changes: where these may be about keys, and have an order, in that order.
        A batch of which a row does not fit is read by this process. Raises UnorderedKeys.
        """
        placing = [f"{_path(name)} AS {_order_name(i)}" for i, name in enumerate(self.order)]
        chosen = frame.selectExpr(*map(quoted, self.columns), *placing, self.digest)
        is_by_key = bool(self.table.key) and self.kind is not StreamKind.ROWS
        has_order = is_by_key and bool(self.order)
        placed = chosen.sort(*map(_placed, range(len(self.order)))) if has_order else chosen
        try:
            result = posted_by(_Batch(self, has_order), placed, self.table, sites, is_by_key)
        except DataError:
            if not sorts_out:
                raise
            result = None
        if result is not None:
            counts, digests, rounded = zip((0, 0, None), *result.report.about, strict=True)
            total = int(np.array(digests, np.int64).sum())
            return ReadBatch(result, sum(counts), total, rounded=Rounding.total(rounded))
        rows = from_dataframe(chosen, self.table.name)
        digest, rounding = _sum(rows), Rounding()
        if self.order:
            rows = rows.sort_by([(_order_name(i), "ascending") for i in range(len(self.order))])
        read = partial(self.changes, name=self.table.name, rounding=rounding)
        places = map(_order_name, range(len(self.order)))
        order = dict(zip(self.order, places, strict=True))
        changes, rejected = sorted_out(rows, read, self.columns, order) if sorts_out else (read(rows), [])
        if not self.order:
            check_order(Keyed(self.table.name, self.table.key), changes)
        return ReadBatch(changes, len(rows), digest, rejected, rounding.columns)

    def measured(self, frame: DataFrame) -> tuple[int, int]:
        """Return how many rows a batch has, and their digest."""
        result = from_dataframe(frame.selectExpr(self.digest), self.table.name)
        return len(result), _sum(result)

    def changes(self, found: pa.Table, name: str, rounding: Rounding, before: int = 0) -> pa.Table:
        """Rows of the stream as changes of the table, called `name` in errors; this many rows came before."""
        rows: Any = found.select(list(self.columns))
        rows = rows.column("value").to_pylist() if self.kind is StreamKind.RECORDS else rows
        has_signs, counts = self.kind is not StreamKind.ROWS, rounding if self.coerce else None
        key = self.table.key if has_signs else ()
        result = to_table(name, self.table.schema, rows, has_signs, key, before, counts)
        return result if has_signs else with_weights(result, 1)


class _Batch(TaskReader):
    """Rows of a stream, with how many they are, their digest, and the rounded values."""

    def __init__(self, form: StreamForm, is_ordered: bool) -> None:
        super().__init__(is_ordered)
        self._form = form

    def read(self, rows: pa.Table, message: str, before: int) -> tuple[pa.Table, Any]:
        rounding = Rounding()
        result = self._form.changes(rows, f"{self._form.table.name}, {message}", rounding, before)
        return result, (len(rows), _sum(rows), rounding.columns)


def _digest(frame: DataFrame, columns: Sequence[str]) -> str:
    """Return a hash of some columns, as SQL; Spark has none of maps, whose texts it is instead."""
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    parts = [f"CAST({quoted(c)} AS STRING)" if "map<" in types[c] else quoted(c) for c in columns]
    return f"xxhash64({', '.join(parts)}) AS {_DIGEST}" if parts else f"0L AS {_DIGEST}"


def _path(name: str) -> str:
    """Return a column, or a field of one, as SQL: by the names between its points, unless quoted already."""
    return name if "`" in name else ".".join(map(quoted, name.split(".")))


def _order_name(index: int) -> str:
    return f"__order_{index}__"


def _placed(index: int) -> Column:
    """Return a column that tells the order, to sort by as Arrow does."""
    from pyspark.sql.functions import col

    return col(_order_name(index)).asc_nulls_last()


def _sum(found: pa.Table) -> int:
    """Return the digest of rows, in any order, of those of each."""
    return int(np.asarray(found.column(_DIGEST)).sum(dtype=np.int64)) if len(found) else 0


def _check_texts(frame: DataFrame, table: CatalogTable) -> None:
    kind = frame.schema["value"].dataType.simpleString()
    if kind not in ("string", "binary"):
        raise DataError(
            [Diagnostic(f"table {table.name}: column value: expected JSON, in text or bytes, found {kind}")]
        )


def _check_envelopes(frame: DataFrame, table: CatalogTable) -> None:
    """Raise DataError unless the rows that envelopes bring have the table's columns; their types are those of JSON."""
    names = getattr(frame.schema["after"].dataType, "names", None) if "after" in frame.columns else None
    missing = [name for name in table.schema.names if name not in names] if names is not None else []
    if names is not None and missing:
        message = f"table {table.name}: column {missing[0]} is missing in after"
        raise DataError([Diagnostic(message, hint=did_you_mean(missing[0], names) or f"it has {', '.join(names)}")])
