"""Expressions with their types, and how to compose them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import FEW, checked, literal, nodes_of, result_of
from deltic.functions.intervals import FIELDS
from deltic.sql.collations import PLAIN, Collation
from deltic.values.types import Type, ValueType

Fields = tuple[str, str]
"""The first and the last of YEAR and MONTH, or of DAY, HOUR, MINUTE and SECOND."""
Modifier = Fields | Collation
"""What a type alone does not say: the fields of an interval, the collation of a text that is not compared by bytes."""


class Mismatch(Exception):
    """An operator does not accept the types of its operands; `hint` says what to do."""

    def __init__(self, hint: str = "") -> None:
        self.hint = hint
        super().__init__(hint)


@dataclass(frozen=True)
class Typed:
    """A circuit expression and its type; NULL alone is an `exp.Null` of no type in particular, see `is_null`."""

    expression: exp.Expression
    type: ValueType
    is_number: bool = False
    """Whether it is a number as it is written, 3 or -3L: beside a decimal its own digits count, not its type."""
    modifier: Modifier | None = None

    @property
    def is_null(self) -> bool:
        """Whether this is a literal NULL, which takes any type."""
        return isinstance(self.expression, exp.Null)

    @property
    def fields(self) -> Fields | None:
        """The first and the last field of an interval, where they are known; its text has all where they are not."""
        return None if isinstance(self.modifier, Collation) else self.modifier

    @property
    def collation(self) -> Collation | None:
        """How the text is compared, where not by its bytes alone."""
        result = self.modifier
        return result if isinstance(result, Collation) and not result.is_plain else None


NULL = Typed(exp.Null(), Type.BOOLEAN.or_null)
"""NULL as it is written; BOOLEAN where nothing asks for another type."""


def in_common(values: Iterable[Typed]) -> Modifier | None:
    """Return the fields from the greatest to the smallest of intervals, or the collation of texts; None where unknown.

    NULL has none of its own. Raises Mismatch for texts of two collations.
    """
    present = [value for value in values if not value.is_null]
    if any(isinstance(value.modifier, Collation) for value in present):
        return _collation([value for value in present if value.type.type is Type.STRING])
    result = [value.fields for value in present if value.type.type is not Type.STRING]
    if not result or None in result:
        return None
    named = {field for fields in result for field in fields or ()}
    kind = [field for fields in FIELDS for field in fields if field in named]
    return kind[0], kind[-1]


def _collation(texts: Sequence[Typed]) -> Collation:
    """That which COLLATE names, else that of columns; texts without columns take any."""
    of_columns = [text for text in texts if text.modifier or any(map(_is_column, nodes_of(text.expression)))]
    there = {text.modifier if isinstance(text.modifier, Collation) else PLAIN for text in of_columns}
    result = {collation for collation in there if collation.is_explicit} or there
    if len(result) > 1:
        both = " and ".join(sorted(collation.name for collation in result))
        raise Mismatch(f"texts of {both} stand together: name one of them by COLLATE")
    return result.pop()


def _is_column(node: exp.Expression) -> bool:
    return isinstance(node, exp.Column)


def constant(value: Any, type_: Type) -> Typed:
    """Return a constant, see `deltic.circuit.expressions.literal`."""
    return Typed(literal(value, type_), ValueType(type_))


def attempted(kind: type[exp.Expression], *operands: Typed) -> Typed:
    """Return an operation of the circuit over one operand or two, NULL where it is undefined."""
    names = ("this", "expression")
    node = kind(**{name: operand.expression.copy() for name, operand in zip(names, operands, strict=False)})
    return of_node(node, *operands)


def applied(kind: type[exp.Expression], *operands: Typed) -> Typed:
    """Return an operation of the circuit over one operand or two, an error where it is undefined."""
    return defined(attempted(kind, *operands), *operands)


def regrouped(kind: type[exp.Expression], operands: Sequence[Typed]) -> Typed:
    """Return an associative operation over one or more operands, as a tree of least depth."""
    if len(operands) <= FEW:
        return reduce(partial(applied, kind), operands)
    half = len(operands) // 2
    return applied(kind, regrouped(kind, operands[:half]), regrouped(kind, operands[half:]))


def of_node(node: exp.Expression, *operands: Typed) -> Typed:
    """Return a node of the circuit whose operands are these."""
    return Typed(node, result_of(node, [operand.type for operand in operands]))


def defined(operation: Typed, *operands: Typed) -> Typed:
    """Return an operation over these operands, checked where it may be NULL although none of them is."""
    if isinstance(operation.expression, exp.Null) or not _may_fail(operation, *operands):
        return operation
    node = checked(operation.expression)
    return Typed(node, result_of(node, [operand.type for operand in operands]))


def _may_fail(operation: Typed, *operands: Typed) -> bool:
    """Return whether an operation may be NULL for operands that are not."""
    return result_of(operation.expression, [ValueType(operand.type.type) for operand in operands]).nullable
