"""Evaluation hints in declarations and pragmas: inlined, hidden, and computed on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from deltic.datalog.checks.checked import Directive
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.program import Declaration
from deltic.datalog.syntax.source import Span

EVERY = "*"
"""The name for all relations in a pragma."""

_WRITTEN = ("output", "printsize")


@dataclass(frozen=True)
class RelationHints:
    """The relations that are inlined, hidden, derived on demand (`magic`), and never derived on demand."""

    inlined: Mapping[str, Declaration]
    hidden: Mapping[str, Span]
    magic: Mapping[str, Span]
    no_magic: Collection[str]


def hints_of(
    declarations: Sequence[Declaration], directives: Sequence[Directive], derived: Collection[str], findings: Findings
) -> RelationHints:
    """Return the hints of a program whose rules derive the relations `derived`; misuse is reported."""
    pragmas = {kind: _spans(directives, kind) for kind in ("hidden", "magic-transform", "magic-transform-exclude")}
    kept = _spans(directives, "inline-exclude")
    inlined = {d.name: d for d in declarations if "inline" in d.qualifiers and not {d.name, EVERY} & kept.keys()}
    no_magic = {d.name for d in declarations if "no_magic" in d.qualifiers} | pragmas["magic-transform-exclude"].keys()
    magic = {d.name: d.span for d in declarations if "magic" in d.qualifiers}
    magic |= {name: span for name, span in pragmas["magic-transform"].items() if name != EVERY}
    _check_opposites(declarations, findings)
    _check_unread(directives, inlined, "inlined", findings)
    _check_unread(directives, magic.keys() - inlined, "`magic`: only demanded rows are derived", findings)
    inputs = {directive.relation for directive in directives if directive.kind == "input"}
    for declaration in inlined.values():
        _check_inlined(declaration, inputs, findings)
    magic = {name: span for name, span in magic.items() if name in derived}
    if EVERY in pragmas["magic-transform"]:
        written = {d.relation for d in directives if d.kind in (*_WRITTEN, "input")}
        names = (d.name for d in declarations if d.name in derived and d.name not in written)
        magic = {**dict.fromkeys(names, pragmas["magic-transform"][EVERY]), **magic}
    without = magic.keys() & derived if EVERY in no_magic else no_magic
    magic = {name: span for name, span in magic.items() if name not in without}
    every = derived if EVERY in no_magic else ()
    return RelationHints(inlined, pragmas["hidden"], magic, frozenset(no_magic).union(every))


def _spans(directives: Sequence[Directive], kind: str) -> dict[str, Span]:
    return {directive.relation: directive.span for directive in directives if directive.kind == kind}


def _check_opposites(declarations: Sequence[Declaration], findings: Findings) -> None:
    for declaration in declarations:
        for word in ("inline", "magic"):
            if {word, f"no_{word}"} <= {*declaration.qualifiers}:
                message = f"`{declaration.name}` is declared both `{word}` and `no_{word}`"
                findings.append(declaration.span.error(message, "remove one of them"))


def _check_unread(directives: Sequence[Directive], relations: Iterable[str], what: str, findings: Findings) -> None:
    """Report output directives for relations that have no rows, or only demanded ones."""
    names = frozenset(relations)
    for directive in directives:
        if directive.kind in _WRITTEN and directive.relation in names:
            message = f"`{directive.relation}` is {what}, so it cannot be read"
            findings.append(directive.span.error(message, "remove this, or the word from the declaration"))


def _check_inlined(declaration: Declaration, inputs: Collection[str], findings: Findings) -> None:
    if "eqrel" in declaration.qualifiers:
        message = f"`{declaration.name}` is an equivalence (eqrel), which depends on itself"
        findings.append(declaration.span.error(message, "remove `inline`"))
    elif declaration.name in inputs:
        message = f"`{declaration.name}` is a table, and only what rules derive can be inlined"
        findings.append(declaration.span.error(message, "remove `inline`"))
