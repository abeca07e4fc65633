"""Conversion of rows in any form to an Arrow table with a table's columns."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.catalog.lateness import ColumnStorage
from deltic.engine.conflicts import SHOWN
from deltic.errors import DataError, Diagnostic, count_of, did_you_mean
from deltic.pipeline.io.columns import REFUSED, check_columns, conform, declared, fits, is_exact, lossless, row_at
from deltic.pipeline.io.envelopes import PARTS as ENVELOPE
from deltic.pipeline.io.envelopes import Signed, are_envelopes, is_envelope, opened
from deltic.pipeline.io.files import File
from deltic.pipeline.io.in_python import rows_at, rows_of
from deltic.pipeline.io.layout import FEED, FEED_COLUMNS, FileLayout
from deltic.pipeline.io.objects import parse_json, parse_object
from deltic.pipeline.io.parsed import Malformed, rows_to_table, table_of
from deltic.pipeline.io.rounding import Rounding, fitted
from deltic.pipeline.io.values import accepts, shown
from deltic.pipeline.rows.tabular import is_column, tabular
from deltic.values import of_python, to_arrow, to_python
from deltic.values.types import Column, Kind, Schema, Type

T = TypeVar("T")

_SIGNED = "rows that all come, or all go, are for insert and delete"
_LONGEST = 200
_FRAME = 'rows of one column are a frame of it: df[["a"]] in pandas, df.select("a") in Spark, pa.table({"a": …})'


def to_table(
    name: str,
    schema: Schema,
    rows: Any,
    signed: bool = False,
    key: tuple[str, ...] = (),
    before: int = 0,
    rounding: Rounding | None = None,
    optional: Mapping[str, Any] = MappingProxyType({}),
) -> pa.Table:
    """Return the rows of a table called `name` as Arrow, with weights when `signed`; changes may be by its `key`.

    `rows` is a `File` or a path of one, an Arrow table, batch or reader, or what hands itself out as one (polars,
    DuckDB), a pandas or Spark DataFrame, what a view or change returned, a structured array of numpy (columns match by
    their names), an array of numpy of two dimensions, or an iterable of tuples, lists or dicts. With `rounding`,
    values that do not fit are rounded, and counted there. Inserted rows may leave out `optional` columns, which have
    these values then. Raises DataError that names the place: the number of the row, counted from those of a table or of
    changes that came `before`.
    """
    if is_column(rows):
        raise _error(name, f"expected rows, found a single column ({type(rows).__name__})", _FRAME)
    if isinstance(rows, Path | File):
        return (rows if isinstance(rows, File) else File(rows)).rows(name, schema, signed, key, rounding)
    if isinstance(rows, pa.Table) and not signed and fits(rows, schema):
        return declared(rows, schema)
    counts = None if rounding is None else Rounding()
    layout = FileLayout(schema, signed=signed, key=key, optional=optional, rounding=counts)
    rows = tabular(name, rows, schema.names, lambda fields: _checked(name, fields, layout))
    if isinstance(rows, pa.Table) and not (signed and are_envelopes(rows.column_names, layout)):
        result = _conformed(name, rows, layout, before)
    else:
        rows = rows_of(rows) if isinstance(rows, pa.Table) else rows
        result = _from_signed_rows(name, layout, rows, before) if signed else _from_rows(name, layout, rows)
    if rounding is not None and counts is not None:
        rounding.add(counts.columns)
    return result


def columns_needed(
    name: str,
    schema: Schema,
    fields: pa.Schema,
    signed: bool,
    key: tuple[str, ...],
    coerce: bool = False,
    optional: Mapping[str, Any] = MappingProxyType({}),
) -> list[str]:
    """Return the columns that `to_table` would read of a frame; raises DataError where they are not the table's."""
    rounding = Rounding() if coerce else None
    return _checked(name, fields, FileLayout(schema, signed=signed, key=key, optional=optional, rounding=rounding))


def optional_columns(table: CatalogTable) -> dict[str, Any]:
    """Return the columns that an inserted row may leave out, with their values then: DEFAULT, or NULL."""
    result: dict[str, Any] = {column.name: None for column in table.schema if column.nullable}
    for storing in (each for each in table.storing if each.default):
        result[storing.column] = _default(table.schema.column(storing.column), storing)
    return result


@lru_cache(maxsize=256)
def _default(column: Column, storing: ColumnStorage) -> Any:
    """The value of a DEFAULT; cached, because each insertion asks for it."""
    from deltic.sql.statements.parse_columns import existing_value

    return to_python(existing_value(column, storing), column.type)


def _checked(name: str, fields: pa.Schema, layout: FileLayout) -> list[str]:
    """Return the columns that are needed. Raises DataError unless they are the table's by name and type, each once."""
    if layout.signed and are_envelopes(fields.names, layout):
        return [part for part in ENVELOPE if part in fields.names]
    signs = layout.sign_columns
    passed = FEED_COLUMNS if FEED in signs and FEED in fields.names else ()
    twice = [column for number, column in enumerate(fields.names) if column in fields.names[:number]]
    if twice:
        raise _error(name, f"there are several columns {twice[0]}", "give each column its own name")
    try:
        check_columns(fields, layout)
        for extra in (column for column in fields.names if column not in (*layout.schema.names, *signs, *passed)):
            raise Malformed(f"there is no column {extra}", hint=did_you_mean(extra, layout.schema.names))
    except Malformed as error:
        raise _error(name, error.reason, error.hint or f"the columns are {layout.schema}") from None
    return [column for column in fields.names if column in (*layout.schema.names, *signs)]


def _conformed(name: str, table: pa.Table, layout: FileLayout, before: int) -> pa.Table:
    for column in (each for each in layout.schema if each.name not in table.column_names):
        value = of_python((layout.optional or {})[column.name], column.type)
        table = table.append_column(column.name, to_arrow([value] * len(table), column.type))
    parsed = conform(table, layout)
    if parsed.bad:
        rows = rows_at(table, parsed.bad[:SHOWN])
        numbers = [before + position + 1 for position in parsed.bad]
        reasons = [_reason(row_at(table, position), layout) for position in parsed.bad[:SHOWN]]
        raise _misfits(name, numbers, reasons, [tuple(row.values()) for row in rows])
    return parsed.table


def _misfits(name: str, numbers: Sequence[int], reasons: Iterable[str], rows: Iterable[Sequence[Any]]) -> DataError:
    """Return the error for the rows with these numbers; it shows the reasons and values of the first ones."""
    result = [
        Diagnostic(f"{_place(f'{name}, row {number}', reason)}; the row is {shown(row, _LONGEST)}")
        for number, reason, row in zip(numbers[:SHOWN], reasons, rows, strict=True)
    ]
    return DataError([*result, _more(name, len(numbers))] if len(numbers) > SHOWN else result)


def _more(name: str, count: int) -> Diagnostic:
    return Diagnostic(f"these are the first {SHOWN} of {count:,} rows that do not fit table {name}")


def _reason(row: Mapping[str, Any], layout: FileLayout) -> str:
    try:
        parse_object(row, layout)
    except Malformed as error:
        return error.reason
    raise AssertionError(f"row {row!r} is refused without a reason")


def _from_rows(name: str, layout: FileLayout, rows: Any) -> pa.Table:
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        is_text = isinstance(rows, str)
        hint = "a file is a pathlib.Path or a deltic.File" if is_text else "a single row is given as [row]"
        raise _error(name, f"expected rows, found {type(rows).__name__}", hint)
    schema = layout.schema
    listed = _each(name, rows, partial(_values, layout=layout))
    columns = zip(*listed, strict=True) if listed else ([] for _ in schema)
    pairs = zip(schema, columns, strict=True)
    arrays = [_column(name, column, values, listed, layout.rounding) for column, values in pairs]
    return table_of(arrays, schema.to_arrow(), len(listed))


def _from_signed_rows(name: str, layout: FileLayout, rows: Any, before: int) -> pa.Table:
    """Convert rows with a weight or sign, or envelopes of Debezium, each also as JSON."""
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise _error(name, f"expected changes, found {type(rows).__name__}", "a single change is given as [change]")
    read = partial(_signed, layout=layout, of_others=replace(layout, optional=None))
    result = [signed for each in _each(name, rows, read, before) for signed in each]
    return rows_to_table(result, layout.schema, signed=True)


def _signed(row: Any, layout: FileLayout, of_others: FileLayout) -> list[Signed]:
    """Return the rows that go and come by one change; those of texts are `of_others`. Raises Malformed."""
    if isinstance(row, str | bytes):
        try:
            return parse_json(row if isinstance(row, str) else row.decode("utf-8"), of_others)
        except UnicodeDecodeError:
            raise Malformed("the change is not UTF-8 text") from None
    if is_envelope(row, layout):
        return opened(row, layout)
    if not isinstance(row, Mapping):
        raise Malformed(f"expected a dict or its JSON, found {shown(row)}", hint=_SIGNED)
    return [parse_object(row, layout)]


def _each(name: str, rows: Iterable[Any], read: Callable[[Any], T], before: int = 0) -> list[T]:
    """Read each row; raises DataError that lists the first unreadable ones."""
    result, diagnostics, count = [], list[Diagnostic](), 0
    for number, row in enumerate(rows, before + 1):
        try:
            result.append(read(row))
        except Malformed as error:
            count += 1
            if count <= SHOWN:
                diagnostics.append(Diagnostic(_place(f"{name}, row {number}", error.reason), hint=error.hint))
    if count > SHOWN:
        diagnostics.append(_more(name, count))
    if diagnostics:
        raise DataError(diagnostics)
    return result


def _values(row: Any, layout: FileLayout) -> Sequence[Any]:
    """Return the values of one row, in the order of the columns; raises Malformed. A tuple's may have any type."""
    schema = layout.schema
    if type(row) is tuple and len(row) == len(schema):
        return row
    if isinstance(row, Mapping):
        return parse_object(row, layout)[0]
    if isinstance(row, str | bytes) or not isinstance(row, Sequence):
        hint = "a row of one value is written (value,)" if len(schema) == 1 else "a single row is given as [row]"
        raise Malformed(f"expected a tuple or a dict, found {shown(row)}", hint=hint)
    if len(row) != len(schema):
        result = f"expected {count_of(len(schema), 'value')}, found {len(row)}: {shown(row)}"
        raise Malformed(result, hint=f"the columns are {schema}")
    return row


# Classes of whose values Arrow finds a type that keeps them; where values of two are together, it may change some.
_ALIKE = [set(), *({kind} for kind in (int, float, str, bytes, bool, datetime.date, decimal.Decimal))]
# The kinds of which Arrow makes a column of such values at once, and refuses those that do not fit.
_OWN: Mapping[type, Container[Kind]] = {
    int: frozenset(type_.kind for type_ in Type.simple() if type_.is_integer),
    float: {Kind.FLOAT64},
    str: {Kind.STRING},
    bytes: {Kind.BINARY},
    bool: {Kind.BOOLEAN},
    datetime.date: {Kind.DATE},
    decimal.Decimal: {Kind.DECIMAL},
}


def _column(
    name: str, column: Column, values: Sequence[Any], rows: Sequence[Sequence[Any]], rounding: Rounding | None
) -> pa.Array:
    """Return the values of one column as an array, checked together where Arrow infers one type."""
    classes = set(map(type, values)) - {type(None)}
    try:
        if len(classes) == 1 and column.type.kind in _OWN.get(next(iter(classes)), ()):
            result = pa.array(values, column.type.arrow)
            if column.nullable or not result.null_count:
                return result
        elif classes in _ALIKE:
            inferred, counts = pa.array(values), Rounding()
            near = inferred if rounding is None else counts.nearest(inferred, column)
            fits = accepts(column.type, near.type) and is_exact(near.type, column)
            if fits and near.null_count == inferred.null_count and (column.nullable or not near.null_count):
                result = lossless(near, column.type)
                if rounding is not None:
                    rounding.add(counts.columns)
                return result
    except REFUSED:
        pass
    pairs = [fitted(value, column, rounding) for value in values]
    values = [value for value, _ in pairs]
    wrong = {number: reason for number, (_, reason) in enumerate(pairs, 1) if reason is not None}
    if wrong:
        numbers, reasons = list(wrong), [f"column {column.name}: {reason}" for reason in wrong.values()][:SHOWN]
        raise _misfits(name, numbers, reasons, [rows[number - 1] for number in numbers[:SHOWN]])
    return to_arrow([of_python(value, column.type) for value in values], column.type)


def _error(place: str, reason: str, hint: str = "") -> DataError:
    return DataError([Diagnostic(_place(place, reason), hint=hint)])


def _place(place: str, reason: str) -> str:
    return f"table {place}{', ' if reason.startswith('column ') else ': '}{reason}"
