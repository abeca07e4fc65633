"""Functions over the elements of arrays, whose bodies are expressions: map, fold and let.

A body reads columns as any expression does, and the elements as `BoundElement` nodes. Their names are local to the
body; an inner body may reuse a name. A search for columns in a tree also finds those of bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from deltic.circuit.expressions.casts import cast_type, null
from deltic.values.types import Type


class BoundElement(exp.Expression, exp.Func):
    """A bound name in a body: the name and a NULL of its type; `sure` where it is never NULL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True, "sure": False}

    @property
    def row_key(self) -> str:
        """The key of the element in a row, next to the columns."""
        return bound_key(self.name)


class HigherOrder(exp.Expression, exp.Func):
    """Alternating names and the expressions that they stand for, then the body."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}
    is_var_len_args = True

    @property
    def keys(self) -> list[str]:
        """The keys of the elements in rows that the body reads."""
        return [bound_key(name.this) for name in self.expressions[:-1:2]]

    @property
    def given(self) -> list[exp.Expression]:
        """The expressions that the names stand for."""
        return list(self.expressions[1:-1:2])

    @property
    def body(self) -> exp.Expression:
        """The body: an expression over the elements."""
        result: exp.Expression = self.expressions[-1]
        return result


class Mapped(HigherOrder):
    """The array of the body's values over the elements of arrays of equal length; NULL where an array is NULL."""


class Fold(HigherOrder):
    """A fold: the first name is the accumulated value, from a start value; the second is the current array element.

    NULL where the array is NULL.
    """


class Let(HigherOrder):
    """The body's value, where its one name stands for a value that is computed once."""


def bound_key(name: str) -> str:
    """Return the row key of an element of that name; no column has such a name."""
    return "\0" + name


def key_of(leaf: exp.Column | BoundElement) -> str:
    """Return the row key of a column or an element."""
    return leaf.row_key if isinstance(leaf, BoundElement) else leaf.name


def bound(name: str, type_: Type, *, sure: bool = False) -> exp.Expression:
    """Return a reference to an element of a type."""
    return BoundElement(
        this=exp.Literal.string(name), expression=null(type_), sure=exp.Boolean(this=True) if sure else None
    )


def element_type(array: Type) -> Type:
    """Return the type of the elements as a body sees them; their parts may be NULL, as in all types of expressions."""
    return cast_type(null(array.element.type))


def higher_order(
    kind: type[HigherOrder], names: Sequence[str], given: Sequence[exp.Expression], body: exp.Expression
) -> exp.Expression:
    """Build a function whose names stand for the expressions `given` in the body."""
    pairs = zip((exp.Literal.string(name) for name in names), (part.copy() for part in given), strict=True)
    return kind(expressions=[*(part for pair in pairs for part in pair), body.copy()])


def read_of(expression: exp.Expression, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns and free elements that an expression reads from a row, by the names that users know."""
    names = {node.name: node.name for node in expression.find_all(exp.Column, bfs=False)}
    names |= {node.row_key: node.name for node in expression.find_all(BoundElement, bfs=False)}
    return {name: row[key] for key, name in names.items() if key in row}
