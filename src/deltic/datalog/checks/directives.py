"""Checks of directives: known relations, options and values, size limits, and what relations allow by their roles."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from deltic.datalog.checks.checked import CheckedRelation, CheckedRule, Directive
from deltic.datalog.checks.declarations import Signatures, unknown_relation
from deltic.datalog.checks.hints import EVERY
from deltic.datalog.checks.kinds import NAMES
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.souffle.words import RELATION_PRAGMAS
from deltic.datalog.syntax.program import DirectiveItem, Option
from deltic.errors import did_you_mean

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
