"""All checks in their order."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.datalog.checks.bindings import check_bindings
from deltic.datalog.checks.checked import CheckedProgram, Relation
from deltic.datalog.checks.declarations import Signature, check_declarations
from deltic.datalog.checks.directives import check_directives
from deltic.datalog.checks.equivalences import equivalence_rules
from deltic.datalog.checks.rules import RuleChecker
from deltic.datalog.checks.stratification import check_stratification
from deltic.datalog.checks.type_names import Findings, TypeTable
from deltic.datalog.syntax.program import Clause, Declaration, DirectiveItem, Program, Subtype, UnionType
from deltic.datalog.syntax.source import in_order
from deltic.errors import ProgramError


def check(programs: Sequence[Program]) -> CheckedProgram:
    """The meaning of all programs of one namespace together.

    Raises ProgramError with everything that is wrong, in the order of the texts.
    """
    findings: Findings = []
    items = [item for program in programs for item in program.items]
    declarations = [item for item in items if isinstance(item, Declaration)]
    types = TypeTable([item for item in items if isinstance(item, Subtype | UnionType)], findings)
    signatures = check_declarations(declarations, types, findings)
    directives = check_directives([item for item in items if isinstance(item, DirectiveItem)], signatures, findings)
    clauses = [item for item in items if isinstance(item, Clause)] + equivalence_rules(declarations, signatures)
    rules = RuleChecker(signatures, types, findings).rules(clauses)
    strata = check_stratification(rules, signatures, findings)
    check_bindings(rules, strata, findings)
    if findings:
        raise ProgramError(in_order(findings))

    inputs = {directive.relation for directive in directives if directive.kind == "input"}
    heads = {rule.head.relation for rule in rules}
    relations = {name: _relation(signatures[name], name in inputs, name in heads) for name in signatures}
    return CheckedProgram(relations, tuple(directives), tuple(rules), strata)


def _relation(signature: Signature, is_input: bool, is_derived: bool) -> Relation:
    return Relation(signature.name, signature.schema(), is_input or not is_derived, is_derived, signature.span)
