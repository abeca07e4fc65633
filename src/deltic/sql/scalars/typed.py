"""Expressions with their types, how to compose them, and constant folding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import FEW, checked, is_literal, literal, nodes_of, result_of
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError
from deltic.functions.intervals import FIELDS
from deltic.sql.collations import PLAIN, Collation, Fields, Modifier, Within, part, texts_of, within
from deltic.values.types import Kind, Type, ValueType


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
        return self.modifier if isinstance(self.modifier, tuple) else None

    @property
    def collation(self) -> Collation | None:
        """How the text is compared, where not by its bytes alone."""
        result = self.modifier
        return result if isinstance(result, Collation) and not result.is_plain else None

    @property
    def is_collated(self) -> bool:
        """Whether it is a text, or has texts in it, that are not compared by their bytes."""
        return bool(self.modifier) and any(c and not c.is_plain for c in texts_of(self.type.type, self.modifier))


NULL = Typed(exp.Null(), Type.BOOLEAN.or_null)
"""NULL as it is written; BOOLEAN where nothing asks for another type."""


def in_common(values: Iterable[Typed]) -> Modifier | None:
    """Return the fields from the greatest to the smallest of intervals, or the collation of texts; None where unknown.

    NULL has none of its own. Raises Mismatch for texts of two collations.
    """
    present = [value for value in values if not value.is_null]
    if not any(value.modifier for value in present):
        return None
    return _merged([(value.type.type, value.modifier, value) for value in present])


def collation_of(values: Iterable[Typed]) -> Collation | None:
    """Return the collation that all texts in these values have. Raises Mismatch for two."""
    there = [(own, value) for value in values for own in texts_of(value.type.type, value.modifier)]
    return _collation(there) if any(own for own, _ in there) else None


def _merged(found: Sequence[tuple[Type, Modifier | None, Typed]]) -> Modifier | None:
    """As `in_common`, of parts of values."""
    if lengths := [len(modifier.parts) for _, modifier, _ in found if isinstance(modifier, Within)]:
        alike = [one for one in found if len(one[0].parts) == lengths[0]]
        places = ([(t.parts[n].type, part(m, n), value) for t, m, value in alike] for n in range(lengths[0]))
        return within(*map(_merged, places))
    if any(isinstance(modifier, Collation) for _, modifier, _ in found):
        texts = [(modifier, value) for type_, modifier, value in found if type_ is Type.STRING]
        return _collation([(own if isinstance(own, Collation) else None, value) for own, value in texts])
    result = [modifier for type_, modifier, _ in found if type_ is not Type.STRING]
    if not result or None in result:
        return None
    named = {field for fields in result if isinstance(fields, tuple) for field in fields}
    kind = [field for fields in FIELDS for field in fields if field in named]
    return kind[0], kind[-1]


def _collation(texts: Sequence[tuple[Collation | None, Typed]]) -> Collation:
    """That which COLLATE names, else that of columns; texts without columns take any."""
    there = {own or PLAIN for own, value in texts if own or any(map(_is_column, nodes_of(value.expression)))}
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
    return replace(of_node(node, *operands), modifier=operation.modifier)


def _may_fail(operation: Typed, *operands: Typed) -> bool:
    """Return whether an operation may be NULL for operands that are not."""
    return result_of(operation.expression, [ValueType(operand.type.type) for operand in operands]).nullable


_COMPOSITE = (Kind.ARRAY, Kind.STRUCT, Kind.MAP, Kind.BINARY)


def folded(typed: Typed) -> Typed:
    """Return the literal of an expression without columns; expressions with columns or without a value stay as they
    are.
    """
    expression, type_ = typed.expression, typed.type.type
    if is_literal(expression) or type_.kind in _COMPOSITE:
        return typed
    if any(isinstance(node, exp.Column | exp.Null) for node in nodes_of(expression)):
        return typed
    try:
        value = evaluate(expression, {}, {})
    except EvaluationError:
        return typed
    if value is None or _is_unwritten(value, type_):
        return typed
    return Typed(literal(value, type_), ValueType(type_), modifier=typed.modifier)


def _is_unwritten(value: object, type_: Type) -> bool:
    """Return whether no literal can express the value: NaN and infinities."""
    return (type_.is_float and value in (float("inf"), float("-inf"))) or value != value
