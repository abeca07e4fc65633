"""All checks in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from deltic.circuit.edges import ZSetType
from deltic.datalog.checks.checked import CheckedProgram, CheckedRelation, Directive
from deltic.datalog.checks.declarations import Signatures, check_declarations, equivalence_rules, signature_of
from deltic.datalog.checks.directives import (
    RelationHints,
    check_directives,
    check_heads,
    check_roles,
    check_widths,
    hints_of,
    limits_of,
    settings_of,
)
from deltic.datalog.checks.functors import check_functors
from deltic.datalog.checks.inlining import inline_relations
from deltic.datalog.checks.of_python import check_applications, take_python
from deltic.datalog.checks.quantifiers import resolve_quantifiers
from deltic.datalog.checks.rules import RuleChecker
from deltic.datalog.checks.stratification import check_stratification
from deltic.datalog.checks.subsumption import subsume
from deltic.datalog.checks.type_names import Findings, TypeTable
from deltic.datalog.memory import ClauseMemory
from deltic.datalog.syntax import program as p
from deltic.datalog.syntax.source import in_order
from deltic.errors import ProgramError

if TYPE_CHECKING:
    from deltic.circuit.custom import OfPython

_NO_FUNCTIONS: Mapping[str, OfPython] = MappingProxyType({})


def check(
    programs: Sequence[p.ParsedProgram],
    others: Mapping[str, ZSetType] | None = None,
    functions: Mapping[str, OfPython] = _NO_FUNCTIONS,
    memory: ClauseMemory | None = None,
) -> CheckedProgram:
    """Check all programs of one namespace together.

    `others` are relations of the catalog that other front ends have defined; rules may read them. `functions` are
    the Python functions, by their names in lower case. Results of earlier checks in `memory` are reused.
    Raises ProgramError with all findings, in the order of the texts.
    """
    findings: Findings = []
    memory = memory or ClauseMemory()
    taken = take_python((item for program in programs for item in program.items), functions, findings)
    subsumed = subsume(taken.items, findings)
    items = subsumed.items
    declarations = [item for item in items if isinstance(item, p.Declaration)]
    settings = settings_of(items, findings)
    types = TypeTable([i for i in items if isinstance(i, p.TypeDeclaration)], settings.word_size, findings)
    others = {**(others or {}), **taken.types}
    declared = check_declarations(declarations, others, types, findings)
    directives = check_directives([item for item in items if isinstance(item, p.DirectiveItem)], declared, findings)
    clauses = [_resolved(item, memory, findings) for item in items if isinstance(item, p.Clause)]
    clauses += equivalence_rules(declarations, declared)
    signatures = {**{name: signature_of(name, type_) for name, type_ in others.items()}, **declared}
    hints = hints_of(declarations, directives, {atom.relation for c in clauses for atom in c.heads}, findings)
    functors = check_functors([i for i in items if isinstance(i, p.FunctorDeclaration)], types, functions, findings)
    checker = RuleChecker(signatures, types, functors, settings, memory.rules, findings)
    if hints.inlined:
        clauses = _inlined(clauses, hints, checker, findings)
    rules = checker.rules(clauses)
    check_widths(rules, others, settings.word_size, findings)
    check_heads(rules, others.keys() - declared.keys(), findings)
    computed = {name: signature for name, signature in declared.items() if name not in hints.inlined}
    there = {name: signature for name, signature in signatures.items() if name not in hints.inlined}
    applied = check_applications(taken, there, others, settings.word_size, findings)
    strata = check_stratification(rules, taken.uses, computed, hints.hidden.keys(), subsumed.helpers, findings)
    limits = limits_of(directives)
    limited = {name for stratum in strata.names if limits.keys() & {*stratum} for name in stratum}
    whole = subsumed.helpers.keys() | {d.name for d in declarations if d.choices} | limited
    heads, size = {rule.head.relation for rule in rules}, settings.word_size
    relations = _relations(declarations, computed, directives, heads, hints, whole, limits, size)
    check_roles(relations, directives, findings)
    if findings:
        raise ProgramError(in_order(findings))
    memory.resolved.forget()
    memory.rules.forget()
    helpers, inlined = strata.helpers, tuple(hints.inlined)
    return CheckedProgram(
        *(relations, others, tuple(directives), tuple(rules), strata.names, helpers, inlined, applied),
        subsumed=subsumed.helpers,
        warnings=tuple(in_order(checker.warnings)),
        word_size=size,
    )


def declared_types(programs: Sequence[p.ParsedProgram]) -> dict[str, ZSetType]:
    """Return the schemas of declared relations for other front ends; errors in them are left to `check`."""
    ignored: Findings = []
    items = [item for program in programs for item in program.items]
    size = settings_of(items, ignored).word_size
    types = TypeTable([item for item in items if isinstance(item, p.TypeDeclaration)], size, ignored)
    declarations = [item for item in items if isinstance(item, p.Declaration)]
    signatures = check_declarations(declarations, {}, types, ignored)
    return {name: ZSetType(s.schema(size), True) for name, s in signatures.items() if None not in s.types}


def _resolved(clause: p.Clause, memory: ClauseMemory, findings: Findings) -> p.Clause:
    result = memory.resolved.get(clause)
    if result is None:
        before = len(findings)
        result = resolve_quantifiers(clause, findings)
        if len(findings) == before:
            memory.resolved.keep(result, clause)
    return result


def _inlined(clauses: list[p.Clause], hints: RelationHints, checker: RuleChecker, findings: Findings) -> list[p.Clause]:
    """Return the clauses with inlined relations expanded; with findings, the clauses of other relations as written."""
    checker.check_as_written(clauses)
    inlined = [] if findings else inline_relations(clauses, hints.inlined, findings)
    if findings:
        return [clause for clause in clauses if not any(atom.relation in hints.inlined for atom in clause.heads)]
    return inlined


def _relations(
    declarations: Sequence[p.Declaration],
    signatures: Signatures,
    directives: Sequence[Directive],
    heads: set[str],
    hints: RelationHints,
    whole: Collection[str],
    limits: Mapping[str, int],
    word_size: int,
) -> dict[str, CheckedRelation]:
    """Return the derived relations and tables, with their properties; those with an unknown type are left out.

    Relations in `whole` are derived in full, because their rows depend on each other.
    """
    inputs = {d.relation for d in directives if d.kind == "input"}
    first = {declaration.name: declaration for declaration in reversed(declarations)}
    return {
        name: CheckedRelation(
            name,
            signature.schema(word_size),
            is_table=name in inputs or name not in heads,
            is_derived=name in heads,
            span=first[name].span,
            is_hidden=name in hints.hidden or name in hints.magic,
            demand=False if name in hints.no_magic or name in whole else True if name in hints.magic else None,
            structures=signature.structures(),
            records=signature.records(),
            choices=first[name].choices,
            limit=limits.get(name),
        )
        for name, signature in signatures.items()
        if None not in signature.types
    }
