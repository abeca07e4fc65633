"""Missing values in plans of Spark Connect: rows that have some are dropped, or others stand for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deltic.pipeline.spark.connect_literals import written_literal
from deltic.pipeline.spark.connect_rows import PlanColumn, PlanRows

if TYPE_CHECKING:
    from deltic.pipeline.spark.connect_plans import PlanReader

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_FLOATS = ("float", "double")


def drop_na(reader: PlanReader, drop: Any, _: Any) -> PlanRows:
    """The rows with enough values in some columns."""
    rows = reader.rows(drop.input)
    names = {name.lower() for name in drop.cols}
    typed = [(c, t) for c, t in _typed(reader, rows, drop.input) if not names or c.name.lower() in names]
    least = drop.min_non_nulls if drop.HasField("min_non_nulls") else len(typed)
    present = " + ".join(f"CASE WHEN {_missing(c.number, t)} THEN 0 ELSE 1 END" for c, t in typed)
    return rows.within(f"SELECT * FROM ({rows.query}) WHERE {present} >= {least}")


def fill_na(reader: PlanReader, fill: Any, _: Any) -> PlanRows:
    """The rows with a value where there was none: one for all columns that it fits, or one for each that is named."""
    rows, columns, texts = reader.rows(fill.input), [], []
    for column, type_ in _typed(reader, rows, fill.input):
        value = _value_for(fill, column, type_)
        columns.append(column if value is None else reader.column(column.name))
        if value is None:
            texts.append(column.number)
            continue
        cast = f"CAST({written_literal(value, reader.errors)} AS {type_})"
        filled = f"CASE WHEN {_missing(column.number, type_)} THEN {cast} ELSE {column.number} END"
        texts.append(f"{filled} AS {columns[-1].number}")
    return PlanRows(f"SELECT {', '.join(texts)} FROM ({rows.query})", tuple(columns), plans=rows.plans)


def _value_for(fill: Any, column: PlanColumn, type_: str) -> Any:
    """The literal for a column; None if it stays as it is."""
    names = [name.lower() for name in fill.cols]
    if names and column.name.lower() not in names:
        return None
    if len(fill.values) > 1:
        return fill.values[names.index(column.name.lower())]
    return fill.values[0] if _fits(fill.values[0], type_) else None


def _typed(reader: PlanReader, rows: PlanRows, relation: Any) -> Iterator[tuple[PlanColumn, str]]:
    types = [field.dataType.simpleString() for field in reader.schema(relation)]
    return zip(rows.columns, types, strict=True)


def _missing(column: str, type_: str) -> str:
    """Whether a value is NULL or NaN."""
    return f"{column} IS NULL{f' OR isnan({column})' if type_ in _FLOATS else ''}"


def _fits(literal: Any, type_: str) -> bool:
    """Whether `fillna` puts a value into columns of a type."""
    kind = literal.WhichOneof("literal_type")
    return type_.startswith({"boolean": ("boolean",), "string": ("string",)}.get(kind, NUMBERS))
