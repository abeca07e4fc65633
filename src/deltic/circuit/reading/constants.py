"""The reader of constants: rows as Python writes them, dates and timestamps as texts."""

from __future__ import annotations

import ast
from datetime import date, datetime
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.reading.line import Line
from deltic.circuit.types import Schema, Type


def read_constant(line: Line) -> ops.Constant:
    """``{(value, …), …}``."""
    text = line.argument("ROWS")
    try:
        rows = ast.parse(f"[{text[1:-1]}]", mode="eval").body
        assert isinstance(rows, ast.List)
        return ops.Constant(line.zset.schema, tuple(_row(row, line.zset.schema) for row in rows.elts))
    except (ValueError, SyntaxError):
        raise line.places.error(line.arguments or line.keyword, "these are not rows of numbers and texts") from None


def _row(written: ast.expr, schema: Schema) -> tuple[Any, ...]:
    values = written.elts if isinstance(written, ast.Tuple) else [written]
    types = [column.type for column in schema] if len(schema) == len(values) else [Type.STRING] * len(values)
    return tuple(_value(ast.literal_eval(_Infinite().visit(v)), type_) for v, type_ in zip(values, types, strict=True))


def _value(value: Any, type_: Type) -> Any:
    """A constant of a column; dates and timestamps are written as texts."""
    times = {Type.DATE: date.fromisoformat, Type.TIMESTAMP_NTZ: datetime.fromisoformat}
    return times[type_](value) if type_ in times and isinstance(value, str) else value


class _Infinite(ast.NodeTransformer):
    """inf and nan, as Python prints them, to the numbers."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node
