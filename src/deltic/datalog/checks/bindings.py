"""Aggregates in recursive rules: what they need from outside must be known before the recursion begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deltic.datalog.checks.checked import Rule
from deltic.datalog.checks.grounding import bound_variables
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import variables
from deltic.datalog.syntax.formulas import Aggregation, Atom, Comparison, Formula, Negation, Test, expressions_of


def check_bindings(rules: Sequence[Rule], strata: Sequence[Collection[str]], findings: Findings) -> None:
    """Report the variables whose values only the recursion has, and whose aggregate does not bind them itself."""
    members = {name: stratum for stratum in strata for name in stratum}
    for rule in rules:
        given = bound_variables(known_before(rule.body, members.get(rule.head.relation, ())))
        for aggregation in (literal for literal in rule.body if isinstance(literal, Aggregation)):
            free = aggregation.free()
            unknown = free.keys() - bound_variables(aggregation.body)
            if is_recursive(rule.body, members.get(rule.head.relation, ())):
                for name in sorted(unknown - given):
                    message = f"`{free[name].span.text}` has its values from the recursion, "
                    message += f"but the `{aggregation.function}` must be known before it begins"
                    hint = "use it in an atom of the aggregate, or in one of the rule that is not recursive"
                    findings.append(free[name].span.error(message, hint))


def is_recursive(body: Sequence[Formula], members: Collection[str]) -> bool:
    """Whether a body has an atom of one of the relations."""
    return any(isinstance(literal, Atom) and literal.relation in members for literal in body)


def known_before(body: Sequence[Formula], members: Collection[str]) -> list[Formula]:
    """The literals that need nothing of these relations: atoms of others, and conditions on what those bind."""
    atoms = [literal for literal in body if isinstance(literal, Atom) and literal.relation not in members]
    conditions = [literal for literal in body if isinstance(literal, Comparison | Test | Negation)]
    bound = bound_variables([*atoms, *conditions])
    decided = [c for c in conditions if all(v.name in bound for e in expressions_of(c) for v in variables(e))]
    return [*atoms, *decided]
