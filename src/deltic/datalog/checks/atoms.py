"""Checks of atoms: known relations, the number of arguments, and wildcards only where they are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deltic.datalog.checks.declarations import Signatures, unknown_relation
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import FUNCTOR, Expression, Wildcard, fields_of, is_structure, subexpressions
from deltic.datalog.syntax.formulas import bare, expressions_of, is_equation, with_inner
from deltic.datalog.syntax.source import Span
from deltic.errors import count_of


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
            if isinstance(atom, f.BodyAtom) and isinstance(argument, Wildcard):
                continue
            if isinstance(literal, f.Negation) and is_structure(argument):
                _refuse_wildcards(argument, "after `!` each field needs a value; make a relation of the rows", findings)
                continue
            is_pattern = matches and is_structure(argument)
            for part in fields_of(argument) if is_pattern else [argument]:
                if not (is_pattern and isinstance(part, Wildcard)):
                    _refuse_wildcards(part, "give it a name, and use that name in an atom of the body", findings)


def _check_atom(atom: f.BodyAtom, signatures: Signatures, findings: Findings) -> None:
    signature = signatures.get(atom.relation)
    if not signature and atom.relation.startswith(FUNCTOR):
        return  # an operator that has been reported
    if not signature:
        findings.append(_name_span(atom).error(*unknown_relation(atom.relation, signatures)))
    elif len(atom.arguments) != len(signature.attributes):
        message = f"`{atom.relation}` has {count_of(len(signature.attributes), 'attribute')}, but here "
        message += f"{len(atom.arguments)} {'is' if len(atom.arguments) == 1 else 'are'} given"
        findings.append(atom.span.error(message, f"it is declared as {signature.shape}"))


def _refuse_wildcards(argument: Expression, remedy: str, findings: Findings) -> None:
    for part in subexpressions(argument):
        if isinstance(part, Wildcard):
            findings.append(part.span.error("`_` has no value", remedy))


def _name_span(atom: f.BodyAtom) -> Span:
    return replace(atom.span, end_line=atom.span.line, end_column=atom.span.column + len(atom.relation))
