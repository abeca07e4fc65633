"""Directives and pragmas: options, size limits, settings of a program, and what relations allow by their roles."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from deltic.circuit.edges import ZSetType
from deltic.datalog.checks.checked import CheckedRelation, CheckedRule, Directive
from deltic.datalog.checks.declarations import Signatures, unknown_relation
from deltic.datalog.checks.type_names import NAMES, Findings
from deltic.datalog.souffle.words import RELATION_PRAGMAS
from deltic.datalog.syntax.formulas import BodyAtom, bare, with_inner
from deltic.datalog.syntax.program import Declaration, DirectiveItem, Item, Option, Pragma
from deltic.datalog.syntax.source import Span
from deltic.errors import did_you_mean

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


_BOOLEAN = (r"true|false", "`true` or `false`")
_DEVICE = (
    r"file|stdin|stdout|stdoutprintsize|sqlite|json|jsonfile",
    "one of file, stdin, stdout, stdoutprintsize, sqlite, json (standard input or output) and jsonfile",
)
_FORM = (r"list|object", "`list` or `object`")
_COLUMNS = (r"\d+(:\d+)*", 'column numbers with colons, counted from 0: "0:2"')
_ANYTHING = (r".*", "")

# Option, what its value must match, and what that is in words.
OPTIONS = {
    "IO": _DEVICE,
    "filename": _ANYTHING,
    "delimiter": (r"(?s:.+)", "one or more characters"),
    "headers": _BOOLEAN,
    "rfc4180": _BOOLEAN,
    "columns": _COLUMNS,
    "compress": _BOOLEAN,
    "dbname": _ANYTHING,
    "name": _ANYTHING,
    "attributeNames": _ANYTHING,
    "operation": _ANYTHING,
    "format": _FORM,
}
LIMITSIZE = {"n": (r"[1-9]\d*", "a number above 0")}


def check_directives(items: Sequence[DirectiveItem], signatures: Signatures, findings: Findings) -> list[Directive]:
    """Return the directives of known relations, in their order."""
    directives = []
    for item in items:
        _check_options(item, findings)
        if item.relation in signatures or (item.relation == EVERY and item.kind in RELATION_PRAGMAS[1:]):
            options = {option.key: option.value for option in item.options}
            directives.append(Directive(item.kind, item.relation, options, item.span))
        else:
            findings.append(item.span.error(*unknown_relation(item.relation, signatures)))
    return directives


def limits_of(directives: Sequence[Directive]) -> dict[str, int]:
    """Return the number of rows of each limited relation at which its recursion stops."""
    limits: dict[str, int] = {}
    for directive in directives:
        if directive.kind == "limitsize" and "n" in directive.options:
            limit = int(directive.options["n"])
            limits[directive.relation] = min(limit, limits.get(directive.relation, limit))
    return limits


def check_heads(rules: Sequence[CheckedRule], others: Container[str], findings: Findings) -> None:
    """Report rules for relations that other front ends have defined."""
    for rule in rules:
        if rule.head.relation in others:
            message = f"`{rule.head.relation}` is not a relation of Datalog, so that no rule derives it"
            findings.append(rule.head.span.error(message, "derive another relation from it"))


def check_roles(relations: Mapping[str, CheckedRelation], directives: Sequence[Directive], findings: Findings) -> None:
    """Report hidden relations that are tables or outputs, and tables with types that files cannot have."""
    for directive in directives:
        relation = relations.get(directive.relation)
        if relation is None or not relation.is_hidden:
            continue
        if directive.kind == "hidden" and relation.is_table:
            message = f"`{relation.name}` is a table, and only what rules derive can be hidden"
            findings.append(directive.span.error(message, "remove the pragma"))
        elif directive.kind in ("output", "printsize") and not relation.demand:
            message = f"`{relation.name}` is hidden, so it cannot be read"
            findings.append(directive.span.error(message, f'remove this or `.pragma "hidden" "{relation.name}"`'))
    for relation in relations.values():
        opaque = [column for column in relation.schema if column.type not in NAMES]
        if relation.is_table and opaque:
            message = f"the table `{relation.name}` has an attribute `{opaque[0].name}` of type {opaque[0].type}"
            hint = f'declare the table with `pipeline.table("{relation.name}", ...)`; rules may read it'
            findings.append(relation.span.error(message, hint))


def _check_options(item: DirectiveItem, findings: Findings) -> None:
    is_limit = item.kind == "limitsize"
    for option in item.options:
        _check_option(option, LIMITSIZE if is_limit else OPTIONS, findings)
    if is_limit and not item.options:
        findings.append(item.span.error("this limit has no size", f"write `.limitsize {item.relation}(n=100)`"))


def _check_option(option: Option, options: Mapping[str, tuple[str, str]], findings: Findings) -> None:
    if option.key not in options:
        known = (
            "the options are " + ", ".join(options) if len(options) > 1 else f"the option is `{next(iter(options))}`"
        )
        hint = did_you_mean(option.key, options) or known
        findings.append(option.span.error(f"there is no option `{option.key}`", hint))
        return
    pattern, wanted = options[option.key]
    if not re.fullmatch(pattern, option.value):
        findings.append(option.span.error(f"`{option.key}` cannot be `{option.value}`", f"it is {wanted}"))


@dataclass(frozen=True)
class ProgramSettings:
    """Whether subtypes are unchecked (`legacy`), and the number of bits of numbers."""

    legacy: bool = False
    word_size: int = 64


def check_widths(
    rules: Iterable[CheckedRule], others: Mapping[str, ZSetType], word_size: int, findings: Findings
) -> None:
    """Report atoms of other front ends' relations whose numbers have more bits than the word size."""
    if word_size == 64:
        return
    for rule in rules:
        for atom in (part for literal in with_inner(rule.body) if isinstance(part := bare(literal), BodyAtom)):
            for column in others[atom.relation].schema if atom.relation in others else ():
                if (column.type.is_integer or column.type.is_float) and column.type.bits > word_size:
                    message = f"`{atom.relation}` has numbers of {column.type.bits} bits in `{column.name}`"
                    hint = f"here they have {word_size}: read a view that casts them, or let the word size be 64"
                    findings.append(atom.span.error(message, hint))


def settings_of(items: Iterable[Item], findings: Findings) -> ProgramSettings:
    """Return the settings of all texts together; contradictions are reported."""
    first: dict[str, Pragma] = {}
    for item in items:
        if isinstance(item, Pragma) and first.setdefault(item.name, item).value != item.value:
            other = first[item.name]
            message = f'the pragma "{item.name}" is "{other.value}" for all programs, as {other.span.place} says'
            findings.append(item.span.error(message, "let both say the same, or remove one of them"))
    size = first["word-size"].value if "word-size" in first else "64"
    return ProgramSettings("legacy" in first, int(size))
