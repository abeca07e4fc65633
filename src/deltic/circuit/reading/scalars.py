"""Expressions of the text form, parsed back to the trees from which `deltic.circuit.expressions.show` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import reduce

import sqlglot
from sqlglot import exp

from deltic.circuit.expressions import BoundElement, Fold, Let, Mapped, cast, checked, columns_of, is_null, show
from deltic.functions import call
from deltic.values.types import Type
from deltic.values.words import SYNTAX

_WORDS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<!\w)[^\W\d]\w*(?!\w*\s*\()""")
_PARTS = {"this", "expression", "expressions", "to", "start", "length", "substr", "ifs", "true", "default", "unit"}

# Nodes that are written as function calls but are not in the table of functions.
_NODES: dict[str, Callable[..., exp.Expression]] = {
    "CHECKED": checked,
    "BOUND": lambda name, null, sure=None: BoundElement(this=name, expression=null, sure=sure),
    "LET": lambda *parts: Let(expressions=list(parts)),
    "MAPPED": lambda *parts: Mapped(expressions=list(parts)),
    "FOLD": lambda *parts: Fold(expressions=list(parts)),
}

# Operators that are calls in trees, by the nodes that SQL parses them to.
_CALLS: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expression]] = {
    exp.DPipe: lambda node: call("concat", node.this, node.expression),
    exp.Length: lambda node: cast(call("length", node.this), Type.INT64),
    exp.Substring: lambda node: call(
        "substring", node.this, cast(node.args["start"], Type.INT32), cast(node.args["length"], Type.INT32)
    ),
}


def parse_expression(text: str, columns: Collection[str]) -> exp.Expression:
    """Return the tree of an expression over these columns.

    Parentheses that only say how operators bind are not in the tree. Raises ValueError where the text is not one
    that `show` writes.
    """
    written = _written(text, columns)
    tree = _plain(written, keep_parentheses=False)
    tree = tree if show(tree) == text else _plain(written, keep_parentheses=True)
    if unknown := [name for name in columns_of(tree) if name not in columns]:
        raise ValueError(f"column {unknown[0]} is not in the input")
    if show(tree) != text:
        raise ValueError(f"`{text}` is not the text of an expression; as text it is `{show(tree)}`")
    return tree


def read_expression(text: str, columns: Collection[str]) -> exp.Expression:
    """Parse an expression with any spacing and parentheses, as people write it. Raises ValueError."""
    return parse_expression(show(_plain(_written(text, columns), keep_parentheses=False)), columns)


def _written(text: str, columns: Collection[str]) -> exp.Expr:
    quoted = _WORDS.sub(lambda word: _as_column(word[0], columns), text)
    try:
        return sqlglot.parse_one(quoted, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise ValueError(f"`{text}` is not an expression") from None


def split(text: str) -> Iterator[str]:
    """Yield the parts between the commas that stand outside of quotes and parentheses."""
    start = level = 0
    for result in re.finditer(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[(),]""", text):
        level += {"(": 1, ")": -1}.get(result[0], 0)
        if result[0] == "," and level == 0:
            yield text[start : result.start()].strip()
            start = result.end()
    if text[start:].strip():
        yield text[start:].strip()


def _is_extreme(node: exp.Case) -> bool:
    """Return whether this is the text form of LEAST or GREATEST: CASE for NULL, because DuckDB's own functions ignore
    NULL.
    """
    default, branches = node.args.get("default"), node.args["ifs"]
    if not isinstance(default, exp.Least | exp.Greatest) or not isinstance(branches[0].args["true"], exp.Null):
        return False
    tests = [is_null(argument.copy()) for argument in (default.this, *default.expressions)]
    return len(branches) == 1 and branches[0].this == reduce(lambda a, b: exp.Or(this=a, expression=b), tests)


def _as_column(word: str, columns: Collection[str]) -> str:
    return f'"{word}"' if word in columns and word not in SYNTAX else word


def _plain(written: exp.Expr, *, keep_parentheses: bool) -> exp.Expression:
    """Return the tree without what the dialect adds: quotes of names, defaults."""

    holder = exp.Paren(this=written.copy())
    for node in list(holder.find_all(exp.Column)):
        if node.name in ("inf", "nan") and not node.this.quoted:
            node.replace(exp.Literal.number(node.name))
    for node in reversed(list(holder.this.walk())):
        if node.find_ancestor(exp.DataType):
            continue
        if isinstance(node, exp.Identifier):
            node.replace(exp.Identifier(this=node.name))
        elif isinstance(node, exp.Paren) and not keep_parentheses:
            node.replace(node.this)
        elif isinstance(node, exp.Case) and _is_extreme(node):
            node.replace(node.args["default"])
        elif isinstance(node, exp.Anonymous) and node.name in _NODES:
            node.replace(_NODES[node.name](*node.expressions))
        elif type(node) in _CALLS:
            node.replace(_CALLS[type(node)](node))
        elif not isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.DataType):
            for name in set(node.args) - _PARTS:
                node.set(name, None)
    tree: exp.Expression = holder.this
    return tree.pop()
