"""Converts many rows of named columns at once, from Parquet, JSON or a DataFrame; equals `parse_object` on each row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.tables import WEIGHT
from deltic.engine.keyed import BY_KEY, MOST
from deltic.errors import Diagnostic
from deltic.pipeline.io.in_python import have_parts_out_of_reach, in_reach, listed, rows_at
from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.objects import check_names, parse_object
from deltic.pipeline.io.parsed import Malformed, Parsed, ParsedRows, arrow_schema, table_of
from deltic.pipeline.io.rounding import can_round
from deltic.pipeline.io.text import header_hint
from deltic.pipeline.io.values import accepts, phrase, problem, whole
from deltic.values import of_python, to_arrow
from deltic.values.types import Column, Kind, Schema, Type

REFUSED = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""The errors that Arrow raises for values that do not fit one of its types."""


def check_columns(fields: pa.Schema, layout: FileLayout) -> None:
    """Raise Malformed if a column is missing or cannot hold values of the relation's type."""
    may_lack = not layout.signed and any(name in fields.names for name in layout.schema.names)
    check_names((*fields.names, *(layout.optional or ())) if may_lack else fields.names, layout)
    for column in (each for each in layout.schema if each.name in fields.names):
        result = fields.field(column.name).type
        if not accepts(column.type, result) and not (layout.rounding and can_round(result, column.type)):
            raise Malformed(f"column {column.name}: expected {phrase(column.type)}, found a column of type {result}")


def fits(table: pa.Table, schema: Schema) -> bool:
    """Return whether a table has the columns of a relation in their order, with values of their types."""
    given, wanted = table.schema, _fields(schema)
    if wanted is None or not (given.equals(wanted) or (given.names == wanted.names and given.types == wanted.types)):
        return False
    return all(_has_place(table.column(place), column) for place, column in _limited(schema))


def declared(table: pa.Table, schema: Schema) -> pa.Table:
    """Return a table that `fits`, with the relation's own fields.

    If its fields are those of `_fields`, only those without NULL are replaced.
    """
    if not table.num_columns or not table.schema.equals(_fields(schema)):
        return table_of(table.columns, schema.to_arrow(), len(table))
    for place, field in _required(schema):
        table = table.set_column(place, field, table.column(place))
    return table


@lru_cache(1 << 10)
def _required(schema: Schema) -> list[tuple[int, pa.Field]]:
    """Return the fields without NULL, with their places."""
    return [(place, field) for place, field in enumerate(schema.to_arrow()) if not field.nullable]


@lru_cache(1 << 10)
def _fields(schema: Schema) -> pa.Schema | None:
    """Return a relation's fields, all nullable; None if a column may refuse what its Arrow type allows, NULL aside."""
    if any(column.type.is_composite or column.type is Type.YEAR_MONTH_INTERVAL for column in schema):
        return None
    return pa.schema([field.with_nullable(True) for field in schema.to_arrow()])


@lru_cache(1 << 10)
def _limited(schema: Schema) -> tuple[tuple[int, Column], ...]:
    """Return the columns that may refuse a value of their Arrow type, with their places."""
    return tuple((p, column) for p, column in enumerate(schema) if not column.nullable or column.type in _TIMES)


def _has_place(values: Any, column: Column) -> bool:
    """Return whether a column accepts all values, which have its Arrow type."""
    return (column.nullable or not values.null_count) and (column.type not in _TIMES or in_reach(values) is values)


_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)


def conform(table: pa.Table, layout: FileLayout) -> Parsed:
    """Return the rows of a table that passed `check_columns`, as rows of the relation. Other columns are dropped."""
    given = [decoded(table[name]) for name in layout.schema.names]
    near = given if layout.rounding is None else list(map(layout.rounding.nearest, given, layout.schema))
    columns = [typed(values, column) for values, column in zip(near, layout.schema, strict=True)]
    wrong = list(map(_misfits, given, columns, layout.schema))
    if layout.signed:
        left = [layout.schema.names.index(column.name) for column in layout.others]
        weights = _by_key(_weights(table, layout), [given[place] for place in left], layout)
        is_key = pc.fill_null(pc.equal(weights, BY_KEY), False)
        for place in left:
            wrong[place] = None if wrong[place] is None else pc.and_not(wrong[place], is_key)
        columns.append(weights)
        wrong.append(_nulls(weights))
    rows = table_of(columns, arrow_schema(layout.schema, layout.signed), len(table))
    rows, bad = _without(rows, [mask for mask in wrong if mask is not None])
    return Parsed(rows, bad)


def row_at(table: pa.Table, place: int) -> dict[str, Any]:
    """Return a row that `conform` has refused, for `parse_object`."""
    return {name: whole(value) for name, value in rows_at(table, [place])[0].items()}


def conformed(table: pa.Table, layout: FileLayout, file: str, first: int) -> ParsedRows:
    """Return the rows of a part of a file, whose first row has the number `first`, with findings for malformed ones."""
    parsed = conform(table, layout)
    shown = rows_at(table, parsed.bad)
    result = (
        _diagnose(row_at(table, place), str(row), layout, file, first + place)
        for place, row in zip(parsed.bad, shown, strict=True)
    )
    return ParsedRows(parsed.table, tuple(result))


def _diagnose(row: dict[str, Any], shown: str, layout: FileLayout, file: str, number: int) -> Diagnostic:
    """Return the finding for row `number`, counted from 1."""
    try:
        parse_object(row, layout)
    except Malformed as error:
        error.reason = f"row {number}, {error.reason}"
        if number == 1 and layout.kind is FileKind.TEXT:
            error.hint = error.hint or header_hint(layout.delimiter.join(map(str, row.values())), layout)
        return error.at(file, number, shown)
    raise AssertionError(f"{file}: the readers disagree about row {number}, {row!r}")


def decoded(values: Any) -> Any:
    """Return the values without run-end or dictionary encoding."""
    if pa.types.is_run_end_encoded(values.type):
        return decoded(pc.run_end_decode(values))
    if not pa.types.is_dictionary(values.type):
        return values
    # Arrow decodes no dictionaries of views.
    plain = _OF_VIEWS.get(values.type.value_type, values.type.value_type)
    chunks = [pa.DictionaryArray.from_arrays(c.indices, c.dictionary.cast(plain)) for c in values.chunks]
    return decoded(pa.chunked_array([chunk.dictionary_decode() for chunk in chunks], plain))


_OF_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def _has_wrong_parts(values: Any, type_: Type) -> bool:
    """Return whether Arrow's cast would keep parts that the type does not allow."""
    return type_.is_composite and (_has_null_parts(values, type_) or have_parts_out_of_reach(values))


def _has_null_parts(values: Any, type_: Type) -> bool:
    """Return whether an element or field is null that must not be: Arrow does not check this."""
    if type_.kind is Kind.ARRAY:
        parts = [(pc.list_flatten(values), type_.element)]
    elif type_.kind is Kind.STRUCT:
        there = values.drop_null()
        parts = [(pc.struct_field(there, [place]), field.value_type) for place, field in enumerate(type_.fields)]
    else:
        return False
    return any((part.null_count and not of.nullable) or _has_null_parts(part, of.type) for part, of in parts)


def typed(values: Any, column: Column) -> Any:
    """Return the values in the column's type, null where they do not fit it."""
    if is_exact(values.type, column) and not _has_wrong_parts(values, column.type):
        try:
            return lossless(values, column.type)
        except pa.ArrowException:
            pass
    result = [None if problem(value, column) else value for value in map(whole, listed(values))]
    return to_arrow([of_python(value, column.type) for value in result], column.type)


def lossless(values: Any, type_: Type) -> Any:
    """Return the values in a type for which `is_exact` is true. ArrowException if one of them has no equal there."""
    if type_.kind is Kind.DECIMAL and pa.types.is_floating(values.type):
        values = values.cast(pa.float64()).cast(pa.string())
    elif type_ is Type.DATE and pa.types.is_timestamp(values.type) and _have_times(values):
        raise pa.ArrowInvalid("a time is not midnight")
    return in_reach(values).cast(type_.arrow)


def _have_times(values: Any) -> bool:
    return bool(pc.any(pc.not_equal(pc.floor_temporal(values, unit="day"), values)).as_py())


def is_exact(arrow: pa.DataType, column: Column) -> bool:
    """Return whether `lossless` keeps every value or fails."""
    if column.type.kind in (Kind.MAP, Kind.YEAR_MONTH_INTERVAL):
        return False
    if column.type.is_composite:
        return bool(arrow == column.type.arrow)
    if column.type.is_float:
        return bool(pa.types.is_integer(arrow) or (pa.types.is_floating(arrow) and arrow.bit_width <= column.type.bits))
    return True


_WEIGHTS = Column(WEIGHT, Type.INT32)


def _weights(table: pa.Table, layout: FileLayout) -> Any:
    """Return the weight of each row, null if it has none: the first column with a value counts, even a wrong one."""
    weights = pa.nulls(len(table), pa.int64())
    for name in reversed(layout.sign_columns):
        if name in table.column_names:
            values = decoded(table[name])
            weights = pc.if_else(values.is_valid(), _weight_column(values, name, layout), weights)
    return weights


def _by_key(weights: Any, left: list[Any], layout: FileLayout) -> Any:
    """Return the weights, with BY_KEY for deleted rows that only have their key."""
    if not layout.has_key_alone or not all(values.null_count for values in left):
        return weights
    result = pc.fill_null(pc.equal(weights, -1), False)
    for values in left:
        result = pc.and_(result, pc.is_null(values))
    return pc.if_else(result, pa.scalar(BY_KEY, pa.int64()), weights)


def _weight_column(values: Any, name: str, layout: FileLayout) -> Any:
    if name == WEIGHT:
        is_whole = pa.types.is_integer(values.type) or pa.types.is_decimal(values.type)
        whole_ones = values if is_whole else pa.nulls(len(values))
        weights = typed(whole_ones, _WEIGHTS).cast(pa.int64())
        is_one = pc.and_(pc.not_equal(weights, 0), pc.greater_equal(weights, -MOST))
        return pc.if_else(is_one, weights, pa.scalar(None, weights.type))
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return pa.nulls(len(values), pa.int64())
    known = layout.words(name)
    places = pc.index_in(pc.utf8_lower(values), pa.array(list(known), values.type))
    return pa.array(list(known.values()), pa.int64()).take(places)


def _misfits(given: Any, values: Any, column: Column) -> Any:
    """Return the mask of wrong nulls: in a column without NULL, or where a value was given; None if there are none."""
    nulls = _nulls(values)
    if nulls is None or not column.nullable:
        return nulls
    return pc.and_(nulls, pc.is_valid(given)) if given.null_count < values.null_count else None


def _nulls(values: Any) -> Any:
    return pc.is_null(values) if values.null_count else None


def _without(rows: pa.Table, masks: list[Any]) -> tuple[pa.Table, list[int]]:
    """Return the rows that no mask marks, and the places of the others."""
    if not masks:
        return rows, []
    wrong = np.logical_or.reduce([mask.to_numpy(zero_copy_only=False) for mask in masks])
    return rows.filter(pa.array(~wrong)), np.flatnonzero(wrong).tolist()
