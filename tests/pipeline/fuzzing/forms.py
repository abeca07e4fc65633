"""Random rows in every form in which rows are taken, most of them in order, the others spoilt in one of many ways."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.values.types import Schema
from tests.pipeline.fuzzing.values import Wrong, meaning, odd_value

ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError)
"""What libraries raise for what cannot be written in a form; it is written in a plainer one then."""


class Own(Exception):
    """What a user's own generator raises."""


@dataclass
class Batch:
    """Rows in some form; `cells` gives what they say, in the order of the schema's columns, or raises Wrong."""

    given: Any
    cells: Callable[[], list[tuple[Any, ...]]]
    how: list[str] = field(default_factory=list)
    in_order: bool = True
    """Whether nothing was done to the rows that could be a reason to refuse them."""
    signed: bool = False


Rows = list[tuple[Any, ...]]


def batch_of(rng: random.Random, schema: Schema, rows: Rows) -> Batch:
    """The rows in a random form, spoilt as often as not."""
    spoilt = rng.random() < 0.5
    make = rng.choice([_iterable, _iterable, _arrow, _arrow, _arrow, _pandas, _pandas, _numpy])
    try:
        batch = make(rng, schema, rows, spoilt)
    except ERRORS:
        batch = _iterable(rng, schema, rows, spoilt)
    if batch.in_order and rng.random() < 0.02:
        given = rng.choice(
            [None, 5, "text", b"bytes", {"a": 1}, object(), pa.array([1]), pd.Series([1]), {"a": [1]}, 1.5]
        )
        return Batch(given, _never, ["no rows"], False)
    return batch


MISSING = object()
"""What stands in a row for the value of a column that it leaves out."""


def meant(cells: Rows, schema: Schema, inserts: bool = False) -> Rows:
    """What the cells mean in the columns, hashable; raises Wrong where one cannot be a value of its column.

    What inserted rows leave out is NULL.
    """
    if any(len(row) != len(schema) for row in cells):
        raise Wrong
    if inserts:
        cells = [tuple(None if value is MISSING else value for value in row) for row in cells]
    return [tuple(meaning(v, c.type, c.nullable) for v, c in zip(row, schema, strict=True)) for row in cells]


def _never() -> Rows:
    raise Wrong


# Rows of Python


def _iterable(rng: random.Random, schema: Schema, rows: Rows, spoilt: bool) -> Batch:  # noqa: C901
    how = rng.choice(["tuples", "lists", "dicts", "mixed", "named tuples", "generator", "deque", "raising"])
    rows = [list(row) for row in rows]
    listed: list[Any] = list(rows)
    spoil = rng.choice(["cell", "cell", "cell", "cells", "length", "key", "row"]) if spoilt and rows else ""
    number = rng.randrange(len(rows)) if rows else 0
    if spoil in ("cell", "cells"):
        for _ in range(1 if spoil == "cell" else 3):
            rows[rng.randrange(len(rows))][rng.randrange(len(schema))] = odd_value(rng)
    if spoil == "length":
        rows[number] = rows[number][:-1] if rng.random() < 0.5 else [*rows[number], 1]
    as_dict = [how == "dicts" or (how == "mixed" and rng.random() < 0.5) for _ in rows]
    listed = [
        dict(zip(schema.names, row, strict=False)) if is_dict else tuple(row)
        for row, is_dict in zip(rows, as_dict, strict=True)
    ]
    if how == "lists":
        listed = list(map(list, rows))
    if how == "named tuples":
        made = collections.namedtuple("Row", [f"c{n}" for n in range(len(schema))])
        listed = [made(*row) if len(row) == len(schema) else tuple(row) for row in rows]
    if spoil == "key":
        row = dict(zip(schema.names, rows[number], strict=False))
        name = rng.choice(schema.names)
        listed[number] = {**row, rng.choice(["zz", 5, None, ("a",)]): 1}
        if rng.random() < 0.5:
            listed[number] = {k: v for k, v in row.items() if k != name}
    if spoil == "row":
        listed[number] = rng.choice(
            ["row", 5, None, b"x", object(), {1, 2}, [], {}, np.array([1, 2]), "x" * len(schema)]
        )
    found = [_cells_of(row, schema) for row in listed]
    given: Any = listed
    if how == "generator":
        given = (row for row in listed)
    elif how == "deque":
        given = collections.deque(listed)
    elif how == "raising":
        given = _raising(listed, rng.randrange(len(listed) + 1))

    def cells() -> Rows:
        if how == "raising" or any(row is None for row in found):
            raise Wrong
        return found

    return Batch(given, cells, [how, *([f"spoilt {spoil}"] if spoil else [])], not spoil and how != "raising")


def _raising(rows: list[Any], after: int):
    yield from rows[:after]
    raise Own("the generator has failed")


def _cells_of(row: Any, schema: Schema) -> tuple[Any, ...] | None:
    if isinstance(row, dict):
        return tuple(row.get(name, MISSING) for name in schema.names) if row.keys() <= set(schema.names) else None
    if isinstance(row, np.ndarray):
        return tuple(row.tolist()) if row.ndim == 1 else None
    return tuple(row) if isinstance(row, tuple | list) and len(row) == len(schema) else None


# Arrow


def _columns(schema: Schema, rows: Rows) -> list[list[Any]]:
    return [[row[i] for row in rows] for i in range(len(schema))]


def _table(schema: Schema, rows: Rows) -> pa.Table:
    columns = _columns(schema, rows)
    arrays = [pa.array(values, c.type.arrow) for values, c in zip(columns, schema, strict=True)]
    return pa.table(arrays, names=list(schema.names))


def _arrow(rng: random.Random, schema: Schema, rows: Rows, spoilt: bool) -> Batch:
    table, how = _table(schema, rows), ["arrow"]
    for _ in range(rng.randrange(3)):
        table = _relaid(rng, table, how)
    if spoilt:
        table = _spoilt_table(rng, schema, table, how)
    signed = rng.random() < 0.2
    if signed:
        table = _with_weights(rng, schema, table, how)
    given: Any = table
    form = rng.choice(["table", "table", "batch", "reader"])
    if form == "batch" and table.num_columns:
        given = table.combine_chunks().to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)
    elif form == "reader":
        given = table.to_reader()
    how.append(form)
    return Batch(given, lambda: _arrow_cells(table, schema, signed), how, not spoilt and not signed, signed)


def _arrow_cells(table: pa.Table, schema: Schema, signed: bool) -> Rows:
    signs = [name for name in (WEIGHT, "op") if signed and name not in schema.names]
    names = [name for name in table.column_names if name not in signs]
    _check_names(names, schema)
    left_out = [MISSING] * len(table)
    columns = [_listed(table.column(name)) if name in names else left_out for name in schema.names]
    return list(zip(*columns, strict=True)) if columns else [()] * len(table)


def _check_names(names: list[str], schema: Schema) -> None:
    """Raise Wrong unless these are some of the columns, each once."""
    if not names or len(set(names)) < len(names) or not set(names) <= set(schema.names):
        raise Wrong


def _listed(column: pa.ChunkedArray) -> list[Any]:
    """The values in Python; of times with nanoseconds, too, and those that Python's own classes do not reach."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise Wrong from error


def _relaid(rng: random.Random, table: pa.Table, how: list[str]) -> pa.Table:
    """The same rows in another layout."""
    kind = rng.choice(["chunks", "slice", "dictionary", "large", "view", "wider", "runs", "order", "units"])
    how.append(kind)
    if kind == "chunks" and len(table) > 1:
        cut = rng.randrange(len(table))
        return pa.concat_tables([table.slice(0, cut), table.slice(cut, 0), table.slice(cut)])
    if kind == "slice" and len(table):
        return pa.concat_tables([table.slice(0, 1), table]).combine_chunks().slice(1)
    if kind == "order":
        return table.select(rng.sample(range(table.num_columns), table.num_columns))
    columns = [_as(kind, column) if rng.random() < 0.7 else column for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _as(kind: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    found, other = column.type, None
    try:
        if kind == "dictionary":
            return column.dictionary_encode()
        if kind == "runs":
            return (
                pa.chunked_array([pa.compute.run_end_encode(c) for c in column.chunks]) if column.num_chunks else column
            )
        if kind == "large":
            other = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(found)
            other = pa.large_list(found.value_field) if pa.types.is_list(found) else other
        if kind == "view":
            other = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}.get(found)
            other = pa.list_view(found.value_field) if pa.types.is_list(found) else other
        if kind == "wider":
            if pa.types.is_integer(found):
                other = pa.int64() if pa.types.is_signed_integer(found) else pa.uint64()
            other = pa.decimal256(found.precision, found.scale) if pa.types.is_decimal(found) else other
            other = pa.float64() if pa.types.is_float32(found) else other
        if kind == "units":
            other = pa.timestamp("ns", found.tz) if pa.types.is_timestamp(found) else other
            other = pa.timestamp("us", "Asia/Tokyo") if found == pa.timestamp("us", "UTC") else other
            other = pa.date64() if pa.types.is_date32(found) else other
        return column.cast(other) if other is not None else column
    except ERRORS:
        return column


OTHERS = [pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
          pa.bool_(),
          pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.time64("us"),
          pa.duration("ns"), pa.decimal128(38, 10), pa.decimal256(76, 0), pa.list_(pa.int64()), pa.null(), pa.binary(3),
          pa.dictionary(pa.int32(), pa.string()), pa.month_day_nano_interval(), pa.string_view()]  # fmt: skip


def _spoilt_table(rng: random.Random, schema: Schema, table: pa.Table, how: list[str]) -> pa.Table:
    kind = rng.choice(
        ["drop", "rename", "double", "extra", "retype", "retype", "cells", "cells", "nulls", "none", "wrap"]
    )
    how.append(f"spoilt {kind}")
    number = rng.randrange(table.num_columns)
    name = table.column_names[number]
    if kind == "drop":
        return table.drop_columns([name])
    if kind == "rename":
        other = rng.choice([name.upper(), name + " ", "", "zz", WEIGHT, *schema.names])
        return table.rename_columns([other if i == number else n for i, n in enumerate(table.column_names)])
    if kind in ("double", "extra"):
        return table.append_column(
            name if kind == "double" else rng.choice(["zz", "op", WEIGHT, ""]), table.column(number)
        )
    if kind == "none":
        return table.select([])
    column = table.column(number)
    if kind == "retype":
        column = column.cast(rng.choice(OTHERS), safe=False)
    elif kind == "nulls":
        column = pa.nulls(len(table), rng.choice([column.type, pa.null()]))
    elif kind == "wrap":
        column = pa.StructArray.from_arrays([column.combine_chunks()], [rng.choice(["x", ""])])
    else:
        values = column.to_pylist()
        for _ in range(1 if len(values) else 0):
            values[rng.randrange(len(values))] = odd_value(rng)
        column = pa.array(values)
    return table.set_column(number, name, column)


def _with_weights(rng: random.Random, schema: Schema, table: pa.Table, how: list[str]) -> pa.Table:
    how.append("weights")
    weights = pa.array([rng.choice([1, 1, 1, 2, -1]) for _ in range(len(table))], rng.choice([pa.int8(), pa.int64()]))
    return table if WEIGHT in table.column_names else table.append_column(WEIGHT, weights)


# pandas and numpy


def _pandas(rng: random.Random, schema: Schema, rows: Rows, spoilt: bool) -> Batch:
    how = rng.choice(["object", "usual", "nullable", "arrow", "category"])
    if any("year_month" in str(type_) for type_ in schema.types.values()):
        how = "object"  # pandas has no intervals of months
    rows = [tuple(1.5 if isinstance(v, float) and v != v else v for v in row) for row in rows]
    frame = _frame(how, schema, rows)
    parts = ["pandas", how]
    if rng.random() < 0.2:
        frame.index = rng.sample(range(100, 100 + len(frame)), len(frame))
    if spoilt:
        frame = _spoilt_frame(rng, schema, frame, parts)
    return Batch(frame, lambda: _frame_cells(frame, schema), parts, not spoilt and _is_natural(schema))


def _is_natural(schema: Schema) -> bool:
    """Whether pandas keeps all values of the columns: none of times, spans and composite values, and no bytes."""
    return all(t.kind.value in ("boolean", "string") or t.is_numeric for t in schema.types.values())


def _frame(how: str, schema: Schema, rows: Rows) -> pd.DataFrame:
    if how == "object":
        return pd.DataFrame(rows, columns=list(schema.names), dtype=object)
    table = _table(schema, rows)
    if how == "arrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    frame = table.to_pandas(integer_object_nulls=True)
    if how == "nullable":
        with np.errstate(invalid="ignore"):  # pandas casts a float to see whether it is whole, and infinity is none
            return frame.convert_dtypes(convert_floating=False)
    return frame.astype("category") if how == "category" else frame


def _spoilt_frame(rng: random.Random, schema: Schema, frame: pd.DataFrame, how: list[str]) -> pd.DataFrame:
    kind = rng.choice(["cell", "cell", "drop", "double", "extra", "name", "levels", "dtype"])
    how.append(f"spoilt {kind}")
    name = rng.choice(schema.names)
    if kind == "drop":
        return frame.drop(columns=[name])
    if kind == "double":
        return pd.concat([frame, frame[[name]]], axis=1)
    if kind == "extra":
        return frame.assign(zz=1)
    if kind == "name":
        return frame.rename(columns={name: rng.choice([5, None, ("a", "b"), "", "zz", 1.5, "A"])})
    if kind == "levels":
        frame = frame.copy()
        frame.columns = pd.MultiIndex.from_tuples([(n, "x") for n in frame.columns])
        return frame
    if kind == "dtype":
        return frame.astype(
            {name: rng.choice(["float32", "Int64", "string", "datetime64[s]", "complex64", "Sparse[int]"])}
        )
    frame = frame.astype(object)
    if len(frame):
        frame.iat[rng.randrange(len(frame)), rng.randrange(len(schema))] = odd_value(rng)
    return frame


def _is_missing(value: Any) -> bool:
    """Whether pandas takes a value, which is no NaT or None, for missing."""
    return isinstance(value, float | complex | Decimal) and value != value


def _frame_cells(frame: pd.DataFrame, schema: Schema) -> Rows:
    names = list(map(str, frame.columns))
    _check_names(names, schema)
    frame = frame.set_axis(names, axis=1)
    columns = [
        [None if _is_missing(v) else v for v in frame[name].tolist()] if name in names else [MISSING] * len(frame)
        for name in schema.names
    ]
    return list(zip(*columns, strict=True))


def _numpy(rng: random.Random, schema: Schema, rows: Rows, spoilt: bool) -> Batch:
    how = rng.choice(["structured", "matrix", "objects", "deep"]) if spoilt else rng.choice(["structured", "objects"])
    if how == "structured":
        kinds = [c.type.arrow.to_pandas_dtype() if c.type.is_numeric and not c.nullable else object for c in schema]
        kinds = [np.dtype(kind) for kind in kinds]
        names = [f"z{n}" for n in schema.names] if spoilt and rng.random() < 0.5 else list(schema.names)
        made = np.array([tuple(row) for row in rows], dtype=list(zip(names, kinds, strict=True)))
        given: Any = made
    elif how == "objects":
        given = np.empty((len(rows), len(schema)), dtype=object)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                given[i, j] = odd_value(rng) if spoilt and rng.random() < 0.1 else value
    else:
        width = len(schema) + rng.choice([0, 0, 1, -1])
        shape = (len(rows), width) if how == "matrix" else (len(rows), width, 2)
        given = np.array(rng.choices([0, 1, 2.5], k=int(np.prod(shape)))).reshape(shape)

    def cells() -> Rows:
        if how == "structured":
            if given.dtype.names != schema.names:
                raise Wrong
            return [tuple(row) for row in given.tolist()]
        if len(given) and (given.ndim != 2 or given.shape[1] != len(schema)):
            raise Wrong
        return [tuple(row) for row in given.tolist()]

    return Batch(given, cells, ["numpy", how], not spoilt and bool(rows))
