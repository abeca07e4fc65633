"""Checks of literals one by one.

Relations are known, atoms have the right number of arguments, wildcards stand only where they are allowed, numbers are
in range, and regular expressions valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from deltic.datalog.checks.declarations import Signatures, unknown_relation
from deltic.datalog.checks.type_names import NAMES, Findings
from deltic.datalog.souffle.functions.ecmascript import PatternError, pattern_of
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import fields_of, is_structure, subexpressions
from deltic.datalog.syntax.formulas import bare, expressions_of, is_equation, with_inner
from deltic.errors import count_of
from deltic.values.numbers import round_float
from deltic.values.types import Type


def check_atoms(head: f.BodyAtom, body: Sequence[f.BodyFormula], signatures: Signatures, findings: Findings) -> None:
    """Report unknown relations and wrong numbers of arguments."""
    for literal in (head, *with_inner(body)):
        atom = bare(literal)
        if isinstance(atom, f.BodyAtom):
            _check_atom(atom, signatures, findings)


def check_wildcards(head: f.BodyAtom, body: Sequence[f.BodyFormula], findings: Findings) -> None:
    """Report wildcards where a value is needed."""
    for argument in head.arguments:
        _refuse_wildcards(argument, "a head needs a value for each attribute", findings)
    for literal in with_inner(body):
        atom = bare(literal)
        matches = isinstance(literal, f.BodyAtom) or is_equation(literal)
        for argument in expressions_of(literal):
            if isinstance(atom, f.BodyAtom) and isinstance(argument, e.Wildcard):
                continue
            if isinstance(literal, f.Negation) and is_structure(argument):
                _refuse_wildcards(argument, "after `!` each field needs a value; make a relation of the rows", findings)
                continue
            is_pattern = matches and is_structure(argument)
            for part in fields_of(argument) if is_pattern else [argument]:
                if not (is_pattern and isinstance(part, e.Wildcard)):
                    _refuse_wildcards(part, "give it a name, and use that name in an atom of the body", findings)


def check_literals(
    literal: f.BodyFormula, type_of: Callable[[e.Expression], Type], findings: Findings, warnings: Findings
) -> None:
    """Report constants that do not fit their type, and warn of patterns that are no regular expressions."""
    for outermost in expressions_of(literal):
        for expression in subexpressions(outermost):
            if isinstance(expression, e.NumberLiteral | e.UnsignedLiteral):
                _check_range(expression, type_of(expression), findings)
            elif isinstance(expression, e.FloatLiteral) and not _fits(expression.value, type_of(expression)):
                findings.append(expression.span.error(f"`{expression.span.text}` is too large for a float"))
    inner = bare(literal)
    if isinstance(inner, f.Test) and inner.name == "match" and isinstance(inner.arguments[0], e.StringLiteral):
        _check_pattern(inner.arguments[0], warnings)


def _check_atom(atom: f.BodyAtom, signatures: Signatures, findings: Findings) -> None:
    signature = signatures.get(atom.relation)
    if not signature and atom.relation.startswith(e.FUNCTOR):
        return  # an operator that has been reported
    if not signature:
        name = replace(atom.span, end_line=atom.span.line, end_column=atom.span.column + len(atom.relation))
        findings.append(name.error(*unknown_relation(atom.relation, signatures)))
    elif len(atom.arguments) != len(signature.attributes):
        message = f"`{atom.relation}` has {count_of(len(signature.attributes), 'attribute')}, but here "
        message += f"{len(atom.arguments)} {'is' if len(atom.arguments) == 1 else 'are'} given"
        findings.append(atom.span.error(message, f"it is declared as {signature.shape}"))


def _refuse_wildcards(argument: e.Expression, remedy: str, findings: Findings) -> None:
    for part in subexpressions(argument):
        if isinstance(part, e.Wildcard):
            findings.append(part.span.error("`_` has no value", remedy))


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
