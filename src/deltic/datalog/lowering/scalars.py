"""Expressions and conditions as sqlglot trees over columns that are named like the variables.

Undefined values are NULL in the tree: division by zero, a text that is no number, an index
outside of a string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from sqlglot import exp

from deltic.circuit.expressions import balanced, cast, column, literal
from deltic.circuit.expressions.trees import COMPARISONS
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.souffle.words import CONVERSIONS, MATHEMATICS
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax.formulas import BodyComparison, BodyFormula, Negation, Test
from deltic.functions import call
from deltic.values.types import Type

Tree = exp.Expression

_COMPARISONS: Mapping[str, type[Tree]] = dict(zip(("=", "!=", "<", "<=", ">", ">="), COMPARISONS, strict=True))
_BINARY: Mapping[str, type[Tree]] = {
    "+": exp.Add,
    "*": exp.Mul,
    "%": exp.Mod,
    "^": exp.Pow,
    "band": exp.BitwiseAnd,
    "bor": exp.BitwiseOr,
    "bxor": exp.BitwiseXor,
    "bshl": exp.BitwiseLeftShift,
    "bshr": exp.BitwiseRightShift,
}


def scalar(expression: e.Expression, rule: CheckedRule) -> Tree:
    """Return the value of an expression of the rule."""
    if isinstance(expression, e.Variable):
        return column(expression.name)
    type_ = rule.type_of(expression)
    if isinstance(expression, e.FunctorCall) and expression.functor == e.NIL:
        return literal(e.NIL, Type.STRING)
    if isinstance(expression, e.Pack):
        fields = (scalar(argument, rule) for argument in expression.arguments)
        return call("pack", literal(expression.shape, Type.STRING), *fields)
    if isinstance(expression, e.Unpack):
        shape, index = literal(expression.shape, Type.STRING), literal(expression.index, Type.INT64)
        return call("unpack", shape, index, scalar(expression.arguments[0], rule))
    if isinstance(expression, e.UserFunctorCall):
        function = expression.function
        pairs = zip(expression.arguments, function.arguments, strict=True)
        taken = [converted(argument, rule, wanted) for argument, wanted in pairs]
        return _as(function.applied(taken), function.returns.type, type_)
    if isinstance(expression, e.FunctorCall):
        arguments = [scalar(argument, rule) for argument in expression.arguments]
        if expression.functor == "substr":
            arguments[1:] = (converted(place, rule, Type.INT64) for place in expression.arguments[1:])
        return _apply(expression.functor, arguments, rule.type_of(expression.arguments[0]), type_)
    return literal(literal_value(expression, type_), type_)


def converted(expression: e.Expression, rule: CheckedRule, type_: Type) -> Tree:
    """Return the value of an expression as a number of another width, cast if necessary."""
    return _as(scalar(expression, rule), rule.type_of(expression), type_)


def _as(value: Tree, type_: Type, wanted: Type) -> Tree:
    return value if type_ is wanted else cast(value, wanted)


def literal_value(expression: e.Expression, type_: Type) -> object:
    """Return the Python value of a literal of this type."""
    assert isinstance(expression, e.NumberLiteral | e.UnsignedLiteral | e.FloatLiteral | e.StringLiteral)
    return float(expression.value) if type_.is_float else expression.value


def predicate(condition: BodyFormula, rule: CheckedRule) -> Tree:
    """Return a comparison, test or negated test of the rule as a tree."""
    if isinstance(condition, Negation):
        return exp.Not(this=predicate(condition.part, rule))
    if isinstance(condition, BodyComparison):
        operator = _COMPARISONS[condition.operator]
        return operator(this=scalar(condition.left, rule), expression=scalar(condition.right, rule))
    assert isinstance(condition, Test)
    first, second = (scalar(argument, rule) for argument in condition.arguments)
    if condition.name == "contains":
        return call("contains", second, first)
    return call("match", first, second)


def _apply(functor: str, arguments: Sequence[Tree], operand: Type, result: Type) -> Tree:
    """Return a functor applied to arguments; the first one has the type `operand`."""
    if functor == "to_string" and operand.is_float:
        return call("six_places", _as(arguments[0], operand, Type.FLOAT64))
    if functor in CONVERSIONS and operand is Type.STRING and result is not Type.STRING:
        return call(f"{result.kind.value}_of_text", arguments[0])
    if functor in CONVERSIONS:
        return _as(arguments[0], operand, result)
    if functor == "ord":
        return _ordinal(arguments[0], operand, result)
    if functor in MATHEMATICS:
        return _as(call(MATHEMATICS[functor], _as(arguments[0], operand, Type.FLOAT64)), Type.FLOAT64, result)
    if functor in ("+", "*") and result is Type.FLOAT64 and len(arguments) > 2:
        return call("sum_in_order" if functor == "+" else "product_in_order", *arguments)
    if functor in ("+", "*") and result is Type.FLOAT32:
        return reduce(lambda left, right: _BINARY[functor](this=left, expression=right), arguments)
    if functor in _SPECIAL:
        return _SPECIAL[functor](arguments, result)
    return balanced(_BINARY[functor], arguments)


def _ordinal(value: Tree, type_: Type, result: Type) -> Tree:
    """Return a number that identifies a value of a type: a number itself, or a fingerprint of a text or structure.

    With fewer bits, the fingerprint's lower bits.
    """
    if type_.is_integer:
        return cast(value, result)
    return _as(call("fingerprint", cast(value, Type.STRING)), Type.INT64, result)


def _minus(arguments: Sequence[Tree], result: Type) -> Tree:
    if len(arguments) == 1:
        return exp.Neg(this=arguments[0])
    return exp.Sub(this=arguments[0], expression=arguments[1])


def _extreme(kind: type[Tree], arguments: Sequence[Tree]) -> Tree:
    return kind(this=arguments[0], expressions=list(arguments[1:]))


def _shift_unsigned(arguments: Sequence[Tree], result: Type) -> Tree:
    """Return a logical right shift, also for negative numbers."""
    left, right = arguments
    if not result.signed:
        return exp.BitwiseRightShift(this=left, expression=right)
    bits = Type.UINT64 if result is Type.INT64 else Type.UINT32
    shifted = exp.BitwiseRightShift(this=cast(left, bits), expression=cast(right, bits))
    return cast(shifted, result)


def _logic(combine: type[Tree]) -> Callable[[Sequence[Tree], Type], Tree]:
    """Return a logical operator on numbers: 0 is false, all else is true, and the result is 0 or 1.

    It combines bits, because SQL's AND and OR may have a value although an operand is NULL.
    """

    def apply(arguments: Sequence[Tree], result: Type) -> Tree:
        return balanced(
            combine, [cast(exp.NEQ(this=argument, expression=literal(0, result)), result) for argument in arguments]
        )

    return apply


def _substring(arguments: Sequence[Tree], result: Type) -> Tree:
    """Return a substring; the index counts from 0, is empty outside of the string, and the length is cut at its end."""
    text, index, length = arguments
    if all(isinstance(number, exp.Literal) and int(number.this) < 2**31 for number in (index, length)):
        return call("substring", text, literal(int(index.this) + 1, Type.INT32), cast(length, Type.INT32))
    zero, size = literal(0, Type.INT64), cast(call("length", text), Type.INT64)
    start = _extreme(exp.Least, [_extreme(exp.Greatest, [index, zero]), size])
    inside = cast(exp.GTE(this=index, expression=zero), Type.INT64)
    wanted = _extreme(exp.Least, [_extreme(exp.Greatest, [length, zero]), size])
    place = exp.Add(this=start, expression=literal(1, Type.INT64))
    return call("substring", text, cast(place, Type.INT32), cast(exp.Mul(this=wanted, expression=inside), Type.INT32))


_SPECIAL: Mapping[str, Callable[[Sequence[Tree], Type], Tree]] = {
    "+": lambda given, result: call("concat", *given) if result is Type.STRING else balanced(exp.Add, given),
    "-": _minus,
    "/": lambda given, result: (exp.Div if result.is_float else exp.IntDiv)(this=given[0], expression=given[1]),
    "cat": lambda given, result: call("concat", *given),
    "min": lambda given, result: _extreme(exp.Least, given),
    "max": lambda given, result: _extreme(exp.Greatest, given),
    "bshru": _shift_unsigned,
    "bnot": lambda given, result: exp.BitwiseNot(this=given[0]),
    "land": _logic(exp.BitwiseAnd),
    "lor": _logic(exp.BitwiseOr),
    "lxor": _logic(exp.BitwiseXor),
    "lnot": lambda given, result: cast(exp.EQ(this=given[0], expression=literal(0, result)), result),
    "strlen": lambda given, result: _as(call("length", given[0]), Type.INT32, result),
    "substr": _substring,
}
