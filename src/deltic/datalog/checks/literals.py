"""Checks of constants: the range of numbers, and valid regular expressions."""

from __future__ import annotations

import math
from collections.abc import Callable

from deltic.datalog.checks.kinds import NAMES
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.souffle.functions.ecmascript import PatternError, pattern_of
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax.expressions import subexpressions
from deltic.datalog.syntax.formulas import BodyFormula, Test, bare, expressions_of
from deltic.values.numbers import round_float
from deltic.values.types import Type


def check_literals(
    literal: BodyFormula, type_of: Callable[[e.Expression], Type], findings: Findings, warnings: Findings
) -> None:
    """Report constants that do not fit their type, and warn of patterns that are no regular expressions."""
    for outermost in expressions_of(literal):
        for expression in subexpressions(outermost):
            if isinstance(expression, e.NumberLiteral | e.UnsignedLiteral):
                _check_range(expression, type_of(expression), findings)
            elif isinstance(expression, e.FloatLiteral) and not _fits(expression.value, type_of(expression)):
                findings.append(expression.span.error(f"`{expression.span.text}` is too large for a float"))
    inner = bare(literal)
    if isinstance(inner, Test) and inner.name == "match" and isinstance(inner.arguments[0], e.StringLiteral):
        _check_pattern(inner.arguments[0], warnings)


def _fits(value: float, type_: Type) -> bool:
    return math.isfinite(round_float(value, type_) if type_.is_float else value)


def _check_range(literal: e.NumberLiteral | e.UnsignedLiteral, type_: Type, findings: Findings) -> None:
    if type_.is_float:
        return
    low, high = type_.range
    if not low <= literal.value <= high:
        name = NAMES[type_]
        article = "a" if type_.signed else "an"
        hint = f"{article} {name} is between {low} and {high}"
        findings.append(literal.span.error(f"`{literal.span.text}` is not {article} {name}", hint))


def _check_pattern(pattern: e.StringLiteral, warnings: Findings) -> None:
    """Warn of an invalid pattern: `match` is undefined for it, as for an invalid pattern in the data."""
    try:
        pattern_of(pattern.value)
    except PatternError as error:
        hint = "the rule derives nothing, also after `!`"
        warnings.append(pattern.span.error(f"this is not a regular expression: {error}", hint))
