"""The node types of expressions, and functions that read trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import ClassVar

from sqlglot import exp

from deltic.circuit.expressions.lambdas import BoundElement, HigherOrder

EQUALITIES: tuple[type[exp.Expression], ...] = (exp.NullSafeEQ, exp.NullSafeNEQ)
BY_ORDER: dict[type[exp.Expression], tuple[bool, bool, bool]] = {
    exp.EQ: (True, False, False),
    exp.NEQ: (True, False, True),
    exp.LT: (False, False, False),
    exp.LTE: (False, True, True),
    exp.GT: (False, True, False),
    exp.GTE: (False, False, True),
}
"""Comparisons by equality or less-than: whether by equality, whether operands change sides, whether it is negated."""
COMPARISONS = tuple(BY_ORDER)
ARITHMETIC: tuple[type[exp.Expression], ...] = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow)
BITWISE: tuple[type[exp.Expression], ...] = (
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
)
LOGIC: tuple[type[exp.Expression], ...] = (exp.And, exp.Or, exp.Not)
# Arithmetic of integers that is NULL where the result does not fit into its type.
SAFE: tuple[type[exp.Expression], ...] = (exp.SafeAdd, exp.SafeSubtract, exp.SafeMultiply, exp.SafeNegate)


class Checked(exp.Expression, exp.Func):
    """A checked operation: an error where the operation is NULL although no operand is NULL.

    An engine rejects an epoch in which a row of a view has such an error, see `deltic.errors.EvaluationError`.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def checked(operation: exp.Expression) -> exp.Expression:
    """Return the operation with a check: an error where it is undefined."""
    return Checked(this=operation)


class TreePart(exp.Column):
    """A placeholder column for a large expression while it is built into others.

    `checked` is set where the expression may fail.
    """

    arg_types: ClassVar[dict[str, bool]] = {**exp.Column.arg_types, "checked": False}


def nodes_of(expression: exp.Expression) -> list[exp.Expression]:
    """Return the expression and its descendants in preorder, from the left."""
    result, waiting = list[exp.Expression](), [expression]
    while waiting:
        node = waiting.pop()
        result.append(node)
        for child in reversed(node.args.values()):
            if isinstance(child, exp.Expression):
                waiting.append(child)
            elif isinstance(child, list):
                waiting += [part for part in reversed(child) if isinstance(part, exp.Expression)]
    return result


def put(node: exp.Expression, other: exp.Expression) -> None:
    """Replace a node by another; faster than `Expression.replace`, which visits all nodes of the list that holds it."""
    if node.index is None:
        node.replace(other)
        return
    parent = above = node.parent
    assert parent is not None
    assert node.arg_key is not None
    parent.args[node.arg_key][node.index] = other
    other.parent, other.arg_key, other.index = parent, node.arg_key, node.index
    while above is not None and above._hash is not None:
        above._hash = None
        above = above.parent


def substituted(expression: exp.Expression, values: Mapping[str, exp.Expression]) -> exp.Expression:
    """Return a copy of the expression with the given columns replaced by values; other columns stay."""
    holder = exp.Paren(this=expression.copy())
    for node in nodes_of(holder):
        if isinstance(node, exp.Column) and node.name in values:
            put(node, values[node.name].copy())
    result: exp.Expression = holder.this
    return result.pop()


def is_checked(expression: exp.Expression) -> bool:
    """Return whether evaluating the expression may raise an error."""
    return any(
        isinstance(node, Checked) or (isinstance(node, TreePart) and node.args.get("checked"))
        for node in nodes_of(expression)
    )


def column(name: str) -> exp.Column:
    """Return a reference to the column called `name`."""
    return exp.Column(this=exp.Identifier(this=name))


def is_null(expression: exp.Expression) -> exp.Expression:
    """Return the test whether the expression is NULL."""
    return exp.Is(this=expression, expression=exp.Null())


def is_not_null(expression: exp.Expression) -> exp.Expression:
    """Return the test whether the expression is not NULL."""
    return exp.Not(this=is_null(expression))


def conjunction(predicates: Sequence[exp.Expression]) -> exp.Expression:
    """Return the conjunction of the predicates, one or more."""
    return balanced(exp.And, predicates)


FEW = 8
"""The most operands that are chained one below the other; more operands form a balanced tree."""


def balanced(operator: type[exp.Expression], operands: Sequence[exp.Expression]) -> exp.Expression:
    """Combine one or more operands of an associative operator."""
    if len(operands) <= FEW:
        return reduce(lambda left, right: operator(this=left, expression=right), operands)
    half = len(operands) // 2
    return operator(this=balanced(operator, operands[:half]), expression=balanced(operator, operands[half:]))


def conjuncts(predicate: exp.Expression) -> list[exp.Expression]:
    """Return the conjuncts of the predicate, in order, without parentheses around them."""
    result, waiting = list[exp.Expression](), [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.And | exp.Paren):
            waiting += reversed(operands_of(part))
        else:
            result.append(part)
    return result


def columns_of(expression: exp.Expression) -> tuple[str, ...]:
    """Return the names of the columns that the expression reads, in order of appearance."""
    if isinstance(expression, exp.Column):
        return (expression.name,)
    return tuple(dict.fromkeys(node.name for node in nodes_of(expression) if isinstance(node, exp.Column)))


def operands_in_turn(expression: exp.Expression) -> list[exp.Expression]:
    """Return the operands in order of evaluation: after an operand that is NULL the others are not computed.

    As in Spark, divisions evaluate the divisor first.
    """
    return operands_of(expression)[:: -1 if is_division(expression) else 1]


def is_division(expression: exp.Expression) -> bool:
    """Return whether this is a quotient or a remainder."""
    return isinstance(expression, exp.Div | exp.IntDiv | exp.Mod)


_NO_OPERANDS = (exp.Null, exp.DataType)


def operands_of(expression: exp.Expression) -> list[exp.Expression]:
    """Return the expressions that a node applies to, in order.

    Those of CASE WHEN c1 THEN v1 … ELSE v END are c1, v1, …, v; without ELSE the last is left out. Those of functions
    over elements are the expressions that the names stand for, and the body. The constants of IN are part of the node.
    """
    if isinstance(expression, (exp.Literal, exp.Interval, BoundElement)):
        return []
    if isinstance(expression, exp.In):
        return [expression.this]
    if isinstance(expression, HigherOrder):
        return [*expression.given, expression.body]
    if isinstance(expression, exp.Case):
        return [operand for child in expression.iter_expressions() for operand in _parts(child)]
    result = list[exp.Expression]()
    for child in expression.args.values():
        if isinstance(child, exp.Expression):
            result.append(child)
        elif isinstance(child, list):
            result += [part for part in child if isinstance(part, exp.Expression)]
    return [child for child in result if not isinstance(child, _NO_OPERANDS)]


def _parts(child: exp.Expression) -> list[exp.Expression]:
    return [child.this, child.args["true"]] if isinstance(child, exp.If) else [child]


def listed(value: object) -> list[exp.Expression]:
    """Return the expressions of an argument: of one, of a list, or of none."""
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, exp.Expression) else []
