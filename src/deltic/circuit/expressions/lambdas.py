"""Functions over the elements of arrays, whose bodies are expressions: what is done with each element, and a fold.

A body reads columns as any expression does, and beside them the elements. These stand in it as `BoundElement`, by
names that hold in the body alone; an inner body may use a name again. A search for columns in a tree finds those of
bodies, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from deltic.circuit.expressions.casts import cast_type, null
from deltic.values.types import Type


class BoundElement(exp.Expression, exp.Func):
    """An element within a body: its name, and NULL of its type; `sure` where it is never NULL."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True, "sure": False}

    @property
    def row_key(self) -> str:
        """What a row calls the element, beside its columns."""
        return bound_key(self.name)

    @property
    def bound_type(self) -> Type:
        """The type of the element."""
        return cast_type(self.expression)


class HigherOrder(exp.Expression, exp.Func):
    """Names and what they stand for in turn, then the body."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}
    is_var_len_args = True

    @property
    def keys(self) -> list[str]:
        """What rows call the elements in the body."""
        return [bound_key(name.this) for name in self.expressions[:-1:2]]

    @property
    def given(self) -> list[exp.Expression]:
        """What the names stand for."""
        return list(self.expressions[1:-1:2])

    @property
    def body(self) -> exp.Expression:
        """The expression of the elements."""
        result: exp.Expression = self.expressions[-1]
        return result


class Mapped(HigherOrder):
    """The array of the body's values for the elements at each place of arrays of one length; NULL where one is."""


class Fold(HigherOrder):
    """The first name is what the body made last, of a value at the start; the second the elements of an array in turn.

    NULL where the array is.
    """


class Let(HigherOrder):
    """The body's value, where the one name stands for a value that is computed once."""


def bound_key(name: str) -> str:
    """What a row calls an element of that name: no column has such a name."""
    return "\0" + name


def key_of(leaf: exp.Column | BoundElement) -> str:
    """What a row calls a column or an element."""
    return leaf.row_key if isinstance(leaf, BoundElement) else leaf.name


def bound(name: str, type_: Type, *, sure: bool = False) -> exp.Expression:
    """An element of a type."""
    return BoundElement(
        this=exp.Literal.string(name), expression=null(type_), sure=exp.Boolean(this=True) if sure else None
    )


def element_type(array: Type) -> Type:
    """The type of the elements as a body sees them: what they hold may be NULL, as in every type of an expression."""
    return cast_type(null(array.element.type))


def higher_order(
    kind: type[HigherOrder], names: Sequence[str], given: Sequence[exp.Expression], body: exp.Expression
) -> exp.Expression:
    """The function whose names stand for these in the body."""
    pairs = zip((exp.Literal.string(name) for name in names), (part.copy() for part in given), strict=True)
    return kind(expressions=[*(part for pair in pairs for part in pair), body.copy()])


def read_of(expression: exp.Expression, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns and elements that an expression reads from outside of it, by the names that a person knows."""
    names = {node.name: node.name for node in expression.find_all(exp.Column, bfs=False)}
    names |= {node.row_key: node.name for node in expression.find_all(BoundElement, bfs=False)}
    return {name: row[key] for key, name in names.items() if key in row}
