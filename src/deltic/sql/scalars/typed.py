"""Expressions with their types, and building them of one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import FEW, checked, literal, result_of
from deltic.functions.intervals import FIELDS
from deltic.values.types import Type, ValueType

Fields = tuple[str, str]
"""The first and the last of YEAR and MONTH, or of DAY, HOUR, MINUTE and SECOND."""


@dataclass(frozen=True)
class Typed:
    """A circuit expression and its type; NULL alone is an `exp.Null` of no type in particular, see `is_null`."""

    expression: exp.Expression
    type: ValueType
    is_number: bool = False
    """Whether it is a number as it is written, 3 or -3L: beside a decimal its own digits count, not its type."""
    fields: Fields | None = None
    """The first and the last field of an interval, where they are known; as a text it has all where they are not."""

    @property
    def is_null(self) -> bool:
        """Whether this is a literal NULL, which takes any type."""
        return isinstance(self.expression, exp.Null)


NULL = Typed(exp.Null(), Type.BOOLEAN.or_null)
"""NULL as it is written; BOOLEAN where nothing asks for another type."""


def fields_together(values: Iterable[Typed]) -> Fields | None:
    """The fields from the greatest to the smallest of these intervals, NULL aside; None where one's are unknown."""
    result = [value.fields for value in values if not value.is_null and value.type.type is not Type.STRING]
    if not result or None in result:
        return None
    named = {field for fields in result for field in fields or ()}
    kind = [field for fields in FIELDS for field in fields if field in named]
    return kind[0], kind[-1]


def constant(value: Any, type_: Type) -> Typed:
    """A constant, see `deltic.circuit.expressions.literal`."""
    return Typed(literal(value, type_), ValueType(type_))


def attempted(kind: type[exp.Expression], *operands: Typed) -> Typed:
    """An operation of the circuit over one operand or two, NULL where it is undefined."""
    names = ("this", "expression")
    node = kind(**{name: operand.expression.copy() for name, operand in zip(names, operands, strict=False)})
    return of_node(node, *operands)


def applied(kind: type[exp.Expression], *operands: Typed) -> Typed:
    """An operation of the circuit over one operand or two, an error where it is undefined."""
    return defined(attempted(kind, *operands), *operands)


def regrouped(kind: type[exp.Expression], operands: Sequence[Typed]) -> Typed:
    """An associative operation over one or more operands, as a tree of least depth."""
    if len(operands) <= FEW:
        return reduce(partial(applied, kind), operands)
    half = len(operands) // 2
    return applied(kind, regrouped(kind, operands[:half]), regrouped(kind, operands[half:]))


def of_node(node: exp.Expression, *operands: Typed) -> Typed:
    """A node of the circuit whose operands are these."""
    return Typed(node, result_of(node, [operand.type for operand in operands]))


def defined(operation: Typed, *operands: Typed) -> Typed:
    """An operation over these operands, checked where it may be NULL although none of them is."""
    if isinstance(operation.expression, exp.Null) or not _may_fail(operation, *operands):
        return operation
    node = checked(operation.expression)
    return Typed(node, result_of(node, [operand.type for operand in operands]))


def _may_fail(operation: Typed, *operands: Typed) -> bool:
    """Whether an operation may be NULL for operands that are not."""
    return result_of(operation.expression, [ValueType(operand.type.type) for operand in operands]).nullable
