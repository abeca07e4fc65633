"""Builds expressions and formulas from lark's parse trees."""

from __future__ import annotations

import re

from lark import Token, Tree

from deltic.datalog.souffle.context import (
    LONGEST,
    UNSUPPORTED,
    ParseContext,
    Parsed,
    Part,
    chain_of,
    family_of,
    tokens,
    tree,
    trees,
)
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.source import Span

ESCAPES = dict(zip("abfnrtv0", "\a\b\f\n\r\t\v\0", strict=True)) | {sign: sign for sign in "\\\"'"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class TermBuilder(ParseContext):
    """Builds expressions and formulas. The method `_x` builds the trees that the grammar calls `x`."""

    def expression(self, part: Part) -> e.Expression:
        """Return the expression for a tree of the grammar's `expression`; a wildcard for an unsupported one."""
        assert isinstance(part, Tree)
        if part.data in UNSUPPORTED:
            self.reject(part, part.data)
            return e.Wildcard(span=self.span(part))
        built: e.Expression = getattr(self, f"_{part.data}")(part, self.span(part))
        return built

    def formula(self, part: Part) -> f.BodyFormula:
        """Return the formula for a tree of the grammar's `disjunction`."""
        assert isinstance(part, Tree)
        built: f.BodyFormula = getattr(self, f"_{part.data}")(part, self.span(part))
        return built

    def arguments(self, parent: Parsed) -> tuple[e.Expression, ...]:
        """Return the expressions between the parentheses of an atom or a call."""
        arguments = tree(parent, "arguments")
        return tuple(self.expression(child) for child in arguments.children) if arguments else ()

    def type_name(self, parsed: Parsed) -> e.TypeName:
        """Return the type name of a tree."""
        return e.TypeName(self.qualified(tokens(parsed)[0]), span=self.span(parsed))

    def string_value(self, token: Token) -> str:
        """Return the value of a quoted string; unknown escapes are reported."""
        hint = "the escapes are \\a \\b \\f \\n \\r \\t \\v \\0 \\\" \\' and \\\\; for a backslash write `\\\\`"
        for escape in _ESCAPE.finditer(token):
            if escape[1] not in ESCAPES:
                begin = (token.start_pos or 0) + escape.start()
                place = self.source.place(begin, begin + 2)
                self.findings.append(place.error(f"`{escape[0]}` is not an escape", hint))
        return _ESCAPE.sub(lambda escape: ESCAPES.get(escape[1], escape[1]), token[1:-1])

    # Expressions

    def _number(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.NumberLiteral(_whole_number(tokens(parsed)[0]), span=span)

    def _unsigned(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.UnsignedLiteral(_whole_number(tokens(parsed)[0]), span=span)

    def _address(self, parsed: Parsed, span: Span) -> e.Expression:
        """Return an IPv4 address as a 32-bit number."""
        parts = [int(part) for part in tokens(parsed)[0].split(".")]
        if max(parts) > 255:
            self.report(parsed, f"{tokens(parsed)[0]} is no internet address", "its parts are numbers from 0 to 255")
        return e.NumberLiteral(int.from_bytes([min(part, 255) for part in parts], "big"), span=span)

    def _float(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.FloatLiteral(float(tokens(parsed)[0]), span=span)

    def _string(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.StringLiteral(self.string_value(tokens(parsed)[0]), span=span)

    def _variable(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.Variable(self.name(tokens(parsed)[0]), span=span)

    def _wildcard(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.Wildcard(span=span)

    def _binary(self, parsed: Parsed, span: Span) -> e.Expression:
        if family := family_of(parsed):
            first, rest = chain_of(parsed)
            if len(rest) > LONGEST:
                others = (self._link(operator, operand) for operator, operand in rest)
                return e.FunctorCall(family, (self.expression(first), *others), span=span)
        left, operator, right = parsed.children
        operands = self.expression(left), self.expression(right)
        return e.FunctorCall(str(operator), operands, span=span)

    def _link(self, operator: Token, operand: Part) -> e.Expression:
        """Return an operand of a chain, negated if it is subtracted."""
        built = self.expression(operand)
        if operator != "-":
            return built
        place = self.source.place(operator.start_pos or 0, operand.meta.end_pos if isinstance(operand, Tree) else 0)
        return e.FunctorCall("-", (built,), span=place)

    def _prefix(self, parsed: Parsed, span: Span) -> e.Expression:
        operator, operand = parsed.children
        if operator == "-" and isinstance(operand, Tree) and operand.data == "number":
            return e.NumberLiteral(-_whole_number(tokens(operand)[0]), span=span)
        if operator == "-" and isinstance(operand, Tree) and operand.data == "float":
            return e.FloatLiteral(-float(tokens(operand)[0]), span=span)
        return e.FunctorCall(str(operator), (self.expression(operand),), span=span)

    def _call(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.FunctorCall(str(tokens(parsed)[0]), self.arguments(parsed), span=span)

    def _extremum(self, parsed: Parsed, span: Span) -> e.Expression:
        functor, first, _ = parsed.children
        arguments = self.expression(first), *self.arguments(parsed)
        return e.FunctorCall(str(functor), arguments, span=span)

    def _cast(self, parsed: Parsed, span: Span) -> e.Expression:
        argument, type_name = parsed.children
        assert not isinstance(type_name, Token)
        return e.Cast(self.expression(argument), self.type_name(type_name), span=span)

    def _record(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.FunctorCall(e.RECORD, self.arguments(parsed), span=span)

    def _nil(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.FunctorCall(e.NIL, (), span=span)

    def _adt_value(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.FunctorCall(e.BRANCH + self.qualified(tokens(parsed)[0]), self.arguments(parsed), span=span)

    def _user_functor(self, parsed: Parsed, span: Span) -> e.Expression:
        return e.FunctorCall(e.FUNCTOR + tokens(parsed)[0], self.arguments(parsed), span=span)

    # Formulas

    def _atom(self, parsed: Parsed, span: Span) -> f.BodyAtom:
        return f.BodyAtom(self.qualified(tokens(parsed)[0]), self.arguments(parsed), span=span)

    def _applied(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        named = [(self.qualified(tokens(part)[0]), self.span(part)) for part in trees(parsed, "qualified")]
        inputs = tuple(f.RelationName(name, span=place) for name, place in named)
        return f.OperatorAtom(str(tokens(parsed)[0]), inputs, self.arguments(parsed), span=span)

    def _comparison(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        left, operator, right = parsed.children
        return f.BodyComparison(str(operator), self.expression(left), self.expression(right), span=span)

    def _test(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        return f.Test(str(tokens(parsed)[0]), self.arguments(parsed), span=span)

    def _truth(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        return f.Truth(tokens(parsed)[0] == "true", span=span)

    def _negation(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        return f.Negation(self.formula(parsed.children[0]), span=span)

    def _conjunction(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        return f.Conjunction(tuple(self.formula(child) for child in parsed.children), span=span)

    def _disjunction(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        return f.Disjunction(tuple(self.formula(child) for child in parsed.children), span=span)

    def _implication(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        premise, conclusion = parsed.children
        return f.Implication(self.formula(premise), self.formula(conclusion), span=span)

    def _quantified(self, parsed: Parsed, span: Span) -> f.BodyFormula:
        quantifier, *names = tokens(parsed)
        bound = tuple(e.Variable(self.name(name), span=self.span(name)) for name in names)
        return f.Quantified(str(quantifier), bound, self.formula(parsed.children[-1]), span=span)

    def _aggregate(self, parsed: Parsed, span: Span) -> e.Expression:
        function, *targets, body = parsed.children
        values = tuple(self.expression(target) for target in targets)
        return f.AggregateExpression(str(function), values, self.formula(body), span=span)


def _whole_number(text: str) -> int:
    """Return the value of a decimal, hexadecimal (`0x`) or binary (`0b`) numeral, with or without the suffix `u`."""
    digits = text.rstrip("u")
    return int(digits, {"0x": 16, "0b": 2}.get(digits[:2], 10))
