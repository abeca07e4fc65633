"""Chains of an operator whose operands may be regrouped: as few levels deep as they can be."""

from __future__ import annotations

from typing import TypeVar, cast

from sqlglot import exp

from deltic.circuit.expressions import balanced

_REGROUPED: tuple[type[exp.Expression], ...] = (exp.And, exp.Or, exp.DPipe)
T = TypeVar("T", bound=exp.Expr | None)


def level(tree: T) -> T:
    """The tree with its chains of AND, OR and `||` as balanced trees: sqlglot makes a level of each operand."""
    if tree is None:
        return tree
    around = exp.Paren(this=tree)
    for node in [*around.find_all(*_REGROUPED)]:
        if type(node.parent) is type(node):
            continue
        node.replace(balanced(type(node), _operands(node)))
    return cast("T", around.this.pop())


def _operands(node: exp.Expression) -> list[exp.Expression]:
    """The operands of a chain, from the left."""
    result, waiting = list[exp.Expression](), [node]
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            result.append(part)
    return result
