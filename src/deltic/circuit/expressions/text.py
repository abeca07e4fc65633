"""The text of expressions as DuckDB SQL: equal trees have equal texts, different trees different ones."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from deltic.circuit.expressions.trees import BITWISE, COMPARISONS, EQUALITIES, TreePart
from deltic.depth import deep
from deltic.values.words import is_plain

# The operators from the loosest to the tightest, as DuckDB reads them; binary ones of one row associate to the left.
_PRECEDENCE: tuple[tuple[type[exp.Expression], ...], ...] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (*COMPARISONS, *EQUALITIES, exp.Is, exp.In),
    (*BITWISE, exp.BitwiseNot),
    (exp.Add, exp.Sub),
    (exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    (exp.Neg,),
)


@lru_cache(maxsize=65536)
@deep
def show(expression: exp.Expression) -> str:
    """Return the expression as text: equal trees give equal texts, and parentheses distinguish different trees."""
    whole = exp.Paren(this=expression.copy())
    for node in reversed(list(whole.this.walk())):
        parent = None if node.parent is whole else node.parent
        if isinstance(node, TreePart):
            node.replace(exp.Column(this=exp.Identifier(this="…")))
            continue
        if isinstance(node, exp.Identifier) and not is_plain(node.name):
            node.set("quoted", True)
        if parent is not None and _binds_looser(node, parent):
            _parenthesize(node)
    return str(whole.this.sql(dialect="duckdb"))


def _parenthesize(node: exp.Expr) -> None:
    """Put parentheses around a node without copying it: a copy at each level would make n² nodes."""
    around = exp.Paren()
    node.replace(around)
    around.set("this", node)


def _binds_looser(node: exp.Expr, parent: exp.Expr) -> bool:
    """Return whether the node, without parentheses under this parent, would parse as another tree."""
    own, outer = _precedence(node), _precedence(parent)
    if own is None or outer is None:
        return False
    if isinstance(parent, exp.Unary):
        return own <= outer or isinstance(parent, exp.BitwiseNot)
    associates = node is parent.this and not isinstance(parent, (*COMPARISONS, *EQUALITIES, exp.Is, exp.In))
    return own < outer or (own == outer and not associates)


def _precedence(expression: exp.Expr) -> int | None:
    return next((i for i, kinds in enumerate(_PRECEDENCE) if isinstance(expression, kinds)), None)
