"""Builds expressions from lark's parse trees."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token, Tree

from deltic.datalog.souffle.chains import LONGEST, chain_of, family_of
from deltic.datalog.souffle.context import ParseContext, Parsed, Part, tokens, tree
from deltic.datalog.souffle.literals import unknown_escapes, unquote, whole_number
from deltic.datalog.souffle.unsupported import UNSUPPORTED
from deltic.datalog.syntax.expressions import (
    BRANCH,
    FUNCTOR,
    NIL,
    RECORD,
    Cast,
    Expression,
    FloatLiteral,
    FunctorCall,
    NumberLiteral,
    StringLiteral,
    TypeName,
    UnsignedLiteral,
    Variable,
    Wildcard,
)
from deltic.datalog.syntax.source import Span


def build_expression(context: ParseContext, part: Part) -> Expression:
    """The expression for a tree of the grammar's `expression`; a wildcard for an unsupported one."""
    assert not isinstance(part, Token)
    if part.data in UNSUPPORTED:
        context.reject(part, part.data)
        return Wildcard(span=context.span(part))
    return EXPRESSIONS[part.data](context, part, context.span(part))


def build_arguments(context: ParseContext, parent: Parsed) -> tuple[Expression, ...]:
    """The expressions between the parentheses of an atom or a call."""
    arguments = tree(parent, "arguments")
    return tuple(build_expression(context, child) for child in arguments.children) if arguments else ()


def build_type_name(context: ParseContext, parsed: Parsed) -> TypeName:
    """The type name of a tree."""
    return TypeName(context.qualified(tokens(parsed)[0]), span=context.span(parsed))


def string_value(context: ParseContext, token: Token) -> str:
    """The value of a quoted string; unknown escapes are reported."""
    for offset, escape in unknown_escapes(token):
        begin = (token.start_pos or 0) + offset
        place = context.source.place(begin, begin + 2)
        hint = "the escapes are \\a \\b \\f \\n \\r \\t \\v \\0 \\\" \\' and \\\\; for a backslash write `\\\\`"
        context.findings.append(place.error(f"`{escape}` is not an escape", hint))
    return unquote(token)


def _number(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return NumberLiteral(whole_number(tokens(parsed)[0]), span=span)


def _unsigned(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return UnsignedLiteral(whole_number(tokens(parsed)[0]), span=span)


def _address(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    """An IPv4 address as a 32-bit number."""
    parts = [int(part) for part in tokens(parsed)[0].split(".")]
    if max(parts) > 255:
        context.report(parsed, f"{tokens(parsed)[0]} is no internet address", "its parts are numbers from 0 to 255")
    return NumberLiteral(int.from_bytes([min(part, 255) for part in parts], "big"), span=span)


def _float(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return FloatLiteral(float(tokens(parsed)[0]), span=span)


def _string(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return StringLiteral(string_value(context, tokens(parsed)[0]), span=span)


def _variable(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return Variable(context.name(tokens(parsed)[0]), span=span)


def _wildcard(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return Wildcard(span=span)


def _binary(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    if family := family_of(parsed):
        first, rest = chain_of(parsed)
        if len(rest) > LONGEST:
            others = (_link(context, operator, operand) for operator, operand in rest)
            return FunctorCall(family, (build_expression(context, first), *others), span=span)
    left, operator, right = parsed.children
    operands = build_expression(context, left), build_expression(context, right)
    return FunctorCall(str(operator), operands, span=span)


def _link(context: ParseContext, operator: Token, operand: Part) -> Expression:
    """An operand of a chain, negated if it is subtracted."""
    built = build_expression(context, operand)
    if operator != "-":
        return built
    place = context.source.place(operator.start_pos or 0, operand.meta.end_pos if isinstance(operand, Tree) else 0)
    return FunctorCall("-", (built,), span=place)


def _prefix(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    operator, operand = parsed.children
    argument = build_expression(context, operand)
    if operator == "-" and not isinstance(operand, Token) and operand.data in ("number", "float"):
        return _negative(argument, span)
    return FunctorCall(str(operator), (argument,), span=span)


def _negative(literal: Expression, span: Span) -> Expression:
    if isinstance(literal, NumberLiteral):
        return NumberLiteral(-literal.value, span=span)
    assert isinstance(literal, FloatLiteral)
    return FloatLiteral(-literal.value, span=span)


def _call(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    functor = tokens(parsed)[0]
    if functor in UNSUPPORTED:
        context.reject(parsed, functor)
    return FunctorCall(str(functor), build_arguments(context, parsed), span=span)


def _extremum(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    functor, first, _ = parsed.children
    arguments = build_expression(context, first), *build_arguments(context, parsed)
    return FunctorCall(str(functor), arguments, span=span)


def _cast(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    argument, type_name = parsed.children
    assert not isinstance(type_name, Token)
    return Cast(build_expression(context, argument), build_type_name(context, type_name), span=span)


def _record(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return FunctorCall(RECORD, build_arguments(context, parsed), span=span)


def _nil(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return FunctorCall(NIL, (), span=span)


def _adt_value(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return FunctorCall(BRANCH + context.qualified(tokens(parsed)[0]), build_arguments(context, parsed), span=span)


def _user_functor(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    return FunctorCall(FUNCTOR + tokens(parsed)[0], build_arguments(context, parsed), span=span)


# The builder of each tree of the grammar; `build_formulas` adds that of aggregates, which contain formulas.
EXPRESSIONS: dict[str, Callable[[ParseContext, Parsed, Span], Expression]] = {
    "number": _number,
    "unsigned": _unsigned,
    "float": _float,
    "address": _address,
    "string": _string,
    "variable": _variable,
    "wildcard": _wildcard,
    "binary": _binary,
    "prefix": _prefix,
    "call": _call,
    "extremum": _extremum,
    "cast": _cast,
    "record": _record,
    "nil": _nil,
    "adt_value": _adt_value,
    "user_functor": _user_functor,
}
