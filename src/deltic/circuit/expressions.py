"""Scalar expressions: sqlglot trees over named columns, with their types and their text.

The *closed core* (columns, literals, comparisons, integer and float arithmetic, bit operations,
Boolean logic, null tests, least and greatest, numeric casts) is evaluated by each engine itself;
`FUNCTIONS` are evaluated by DuckDB. Integers are 64 bits wide and wrap around; division truncates
toward zero and the remainder has the sign of the dividend; what is undefined is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from deltic.circuit.types import Type
from deltic.circuit.words import is_plain
from deltic.errors import UnsupportedError

COMPARISONS: tuple[type[exp.Expression], ...] = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
ARITHMETIC: tuple[type[exp.Expression], ...] = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Pow)
BITWISE: tuple[type[exp.Expression], ...] = (
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
)
LOGIC: tuple[type[exp.Expression], ...] = (exp.And, exp.Or, exp.Not, exp.Is)

# The operators from the loosest to the tightest, as DuckDB reads them; binary ones of one row associate to the left.
_PRECEDENCE: tuple[tuple[type[exp.Expression], ...], ...] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (*COMPARISONS, exp.Is),
    (*BITWISE, exp.BitwiseNot, exp.DPipe),
    (exp.Add, exp.Sub),
    (exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    (exp.Neg,),
)

# Functions that DuckDB evaluates, with the types of their results.
FUNCTIONS: dict[type[exp.Expression], Type] = {
    exp.DPipe: Type.STRING,
    exp.Length: Type.INT64,
    exp.Substring: Type.STRING,
    exp.Contains: Type.BOOLEAN,
    exp.RegexpFullMatch: Type.BOOLEAN,
    exp.Lower: Type.STRING,
    exp.Upper: Type.STRING,
    exp.StrPosition: Type.INT64,
}

CASTS = {
    exp.DataType.Type.BIGINT: Type.INT64,
    exp.DataType.Type.UBIGINT: Type.UINT64,
    exp.DataType.Type.DOUBLE: Type.FLOAT64,
    exp.DataType.Type.TEXT: Type.STRING,
    exp.DataType.Type.VARCHAR: Type.STRING,
    exp.DataType.Type.BOOLEAN: Type.BOOLEAN,
}
_SQL_TYPES = {
    Type.INT64: "BIGINT",
    Type.UINT64: "UBIGINT",
    Type.FLOAT64: "DOUBLE",
    Type.STRING: "TEXT",
    Type.BOOLEAN: "BOOLEAN",
}


def column(name: str) -> exp.Column:
    """The value of the column called `name`."""
    return exp.Column(this=exp.Identifier(this=name))


def literal(value: Any, type_: Type) -> exp.Expression:
    """A constant of a type: Python's int, float, str or bool."""
    if type_ is Type.STRING:
        return exp.Literal.string(value)
    if type_ is Type.BOOLEAN:
        return exp.Boolean(this=value)
    magnitude = exp.Literal.number(repr(abs(value)))
    number = exp.Neg(this=magnitude) if value < 0 else magnitude
    return number if type_ is Type.INT64 else cast(number, type_)


def cast(expression: exp.Expression, type_: Type) -> exp.Expression:
    """The expression converted to another type; NULL where it has no such value."""
    return exp.TryCast(this=expression, to=exp.DataType.build(_SQL_TYPES[type_], dialect="duckdb"))


def columns_of(expression: exp.Expression) -> tuple[str, ...]:
    """The names of the columns that the expression reads, in order of appearance."""
    return tuple(dict.fromkeys(node.name for node in expression.find_all(exp.Column, bfs=False)))


def show(expression: exp.Expression) -> str:
    """The expression as text, the same for equal trees and with the parentheses that tell different ones apart."""
    return _show(expression)


@lru_cache(maxsize=65536)
def _show(expression: exp.Expression) -> str:
    copy = expression.copy()
    for node in reversed(list(copy.walk())):
        parent = node.parent
        if isinstance(node, exp.Identifier) and not is_plain(node.name):
            node.set("quoted", True)
        if parent is not None and _binds_looser(node, parent):
            node.replace(exp.Paren(this=node.copy()))
    return copy.sql(dialect="duckdb")


def _binds_looser(node: exp.Expr, parent: exp.Expr) -> bool:
    """Whether the node, written as an operand of this parent without parentheses, would be read as another tree."""
    own, outer = _precedence(node), _precedence(parent)
    if own is None or outer is None:
        return False
    if isinstance(parent, exp.Unary):
        return own <= outer or isinstance(parent, exp.BitwiseNot)
    associates = node is parent.this and not isinstance(parent, (*COMPARISONS, exp.Is))
    return own < outer or (own == outer and not associates)


def _precedence(expression: exp.Expr) -> int | None:
    return next((i for i, kinds in enumerate(_PRECEDENCE) if isinstance(expression, kinds)), None)


def is_literal(expression: exp.Expression) -> bool:
    """Whether the expression is a constant as `literal` writes it; conversions of constants are computed."""
    if isinstance(expression, exp.TryCast):
        target = CASTS[expression.to.this]
        return _is_number(expression.this) and (
            target is Type.FLOAT64 or (target is Type.UINT64 and expression.this.is_int)
        )
    return isinstance(expression, exp.Literal | exp.Boolean) or _is_number(expression)


def _is_number(expression: exp.Expression) -> bool:
    if isinstance(expression, exp.Neg):
        return isinstance(expression.this, exp.Literal) and expression.this.is_number
    return isinstance(expression, exp.Literal) and expression.is_number


def is_function(expression: exp.Expression) -> bool:
    """Whether DuckDB evaluates this node: a function, or a cast from or to text."""
    if isinstance(expression, exp.TryCast):
        return True
    return isinstance(expression, tuple(FUNCTIONS))


def is_total(expression: exp.Expression) -> bool:
    """Whether the expression is surely not NULL where its columns are not."""
    return all(_is_total_node(node) for node in expression.walk())


def _is_total_node(node: exp.Expr) -> bool:
    if isinstance(node, exp.Div | exp.IntDiv | exp.Mod):
        return is_literal(node.expression) and not is_literal_zero(node.expression)
    if isinstance(node, exp.TryCast):
        return CASTS[node.to.this] is Type.STRING or is_literal(node)
    return not isinstance(node, exp.Pow | exp.Null)


def is_literal_zero(expression: exp.Expression) -> bool:
    """Whether the expression is a constant zero as `literal` writes it."""
    if isinstance(expression, exp.Neg | exp.TryCast):
        return is_literal_zero(expression.this)
    return isinstance(expression, exp.Literal) and not expression.is_string and float(expression.this) == 0


def infer(expression: exp.Expression, types: Mapping[str, Type]) -> Type:
    """The type of an expression over columns of these types.

    Raises UnsupportedError for a node outside of the closed core and of `FUNCTIONS`, or for operands
    of types that do not fit together.
    """
    if isinstance(expression, exp.Column):
        return types[expression.name]
    if isinstance(expression, exp.Literal):
        return Type.STRING if expression.is_string else Type.INT64 if expression.is_int else Type.FLOAT64
    if isinstance(expression, exp.TryCast):
        infer(expression.this, types)
        return CASTS[expression.to.this]
    operands = [infer(child, types) for child in _operands(expression)]
    return _result(expression, operands)


def _operands(expression: exp.Expression) -> list[exp.Expression]:
    return [child for child in expression.iter_expressions() if not isinstance(child, exp.Null | exp.DataType)]


def operands_of(expression: exp.Expression) -> list[exp.Expression]:
    """The expressions that a node applies to, in order."""
    return _operands(expression)


def _result(expression: exp.Expression, operands: list[Type]) -> Type:
    kind = type(expression)
    if isinstance(expression, exp.Boolean):
        return Type.BOOLEAN
    if kind is exp.Is:
        return Type.BOOLEAN
    if isinstance(expression, LOGIC) and all(t is Type.BOOLEAN for t in operands):
        return Type.BOOLEAN
    if kind in FUNCTIONS:
        return FUNCTIONS[kind]
    if len(set(operands)) == 1:
        if isinstance(expression, COMPARISONS):
            return Type.BOOLEAN
        if kind in (exp.Paren, exp.Least, exp.Greatest):
            return operands[0]
        if isinstance(expression, (*ARITHMETIC, exp.Neg)) and operands[0].is_numeric:
            return operands[0]
        if isinstance(expression, (*BITWISE, exp.BitwiseNot, exp.IntDiv)) and operands[0].is_integer:
            return operands[0]
    found = ", ".join(str(t) for t in operands)
    raise UnsupportedError(f"{show(expression)}: {kind.__name__} of ({found}) is not supported in an expression")
