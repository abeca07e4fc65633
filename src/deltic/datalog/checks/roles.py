"""The roles of relations (table, view, hidden) and the directives that they allow."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from deltic.datalog.checks.checked import CheckedRelation, CheckedRule, Directive
from deltic.datalog.checks.kinds import NAMES
from deltic.datalog.checks.type_names import Findings


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
