"""Collations: `x COLLATE UTF8_LCASE` beside a comparison compares without regard to case.

Only what compares texts takes it: comparisons, IN, BETWEEN, LIKE, CASE x WHEN, and keys of ORDER BY and PARTITION BY.
A column or result with a collation is refused: its later comparisons are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.sql.scalars.functions.refused import COLLATION, WITHOUT_CASE
from deltic.sql.scalars.functions.rules import plain
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Type

_SIGMA = "ς", "σ"
"""The letter at the end of words, which equals the other."""


def text_of(node: exp.Expression) -> tuple[exp.Expression, str]:
    """An operand without its collation, and the collation that it names, or an empty text."""
    inner = node.unnest()
    if isinstance(inner, exp.Collate):
        return inner.this, inner.expression.name.upper()
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "collate" and len(inner.expressions) == 2:
        return inner.expressions[0], inner.expressions[1].name.upper()
    return node, ""


def texts_of(nodes: Sequence[exp.Expression]) -> tuple[list[exp.Expression], bool]:
    """Operands that are compared, without collations, and whether case does not count.

    Raises Mismatch for an unknown collation, and for two of them.
    """
    pairs = [text_of(node) for node in nodes]
    named = {name for _, name in pairs if name}
    if not named:
        return list(nodes), False
    if len(named) > 1 or not named <= {WITHOUT_CASE, "UTF8_BINARY"}:
        raise Mismatch(f"{' and '.join(sorted(named))}: {COLLATION}")
    return [node for node, _ in pairs], named == {WITHOUT_CASE}


def compared(values: Sequence[Typed]) -> list[Typed]:
    """Texts folded for comparison without case; unchanged if some values are not texts."""
    if not all(value.is_null or value.type.type is Type.STRING for value in values):
        return list(values)
    signs = [constant(sign, Type.STRING) for sign in _SIGMA]
    return [plain("translate", [plain("lower", [value]), *signs]) for value in values]


def key(node: exp.Expression) -> exp.Expression:
    """A key by which rows are ordered or divided, as a value: texts in small letters where case does not count."""
    text, name = text_of(node)
    if name != WITHOUT_CASE:
        return node
    small = exp.Anonymous(this="lower", expressions=[text.copy()])
    return exp.Anonymous(this="translate", expressions=[small, *map(exp.Literal.string, _SIGMA)])
