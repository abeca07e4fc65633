"""The reader of constants: rows of Python literals."""

from __future__ import annotations

import ast
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.reading.line import NodeLine
from deltic.values.text import of_literal
from deltic.values.types import Schema, Type


def read_constant(line: NodeLine) -> ops.Constant:
    """``{(value, …), …}``."""
    text = line.argument("ROWS")
    try:
        rows = ast.parse(f"[{text[1:-1]}]", mode="eval").body
        assert isinstance(rows, ast.List)
        return ops.Constant(line.zset.schema, tuple(_row(row, line.zset.schema) for row in rows.elts))
    except (ValueError, SyntaxError):
        raise line.places.error(line.arguments or line.keyword, "these are not rows of numbers and texts") from None


def _row(written: ast.expr, schema: Schema) -> tuple[Any, ...]:
    whole = len(schema) == 1 and schema.columns[0].type.is_composite
    values = written.elts if isinstance(written, ast.Tuple) and not whole else [written]
    types = [column.type for column in schema] if len(schema) == len(values) else [Type.STRING] * len(values)
    return tuple(
        of_literal(ast.literal_eval(_Infinite().visit(v)), type_) for v, type_ in zip(values, types, strict=True)
    )


class _Infinite(ast.NodeTransformer):
    """Replaces the names inf and nan, as Python prints them, by the numbers."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node
