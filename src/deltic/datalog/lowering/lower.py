"""Programs: strata in their order, each relation from its table, facts and rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.evaluate import evaluate
from deltic.datalog.checks.checked import CheckedProgram, Relation, Rule
from deltic.datalog.lowering.atoms import make_set
from deltic.datalog.lowering.rules import lower_rule
from deltic.datalog.lowering.scalars import scalar
from deltic.datalog.lowering.scopes import Inside, Outside, Scope
from deltic.datalog.lowering.simplify import simplify
from deltic.datalog.syntax.formulas import Atom


def lower(checked: CheckedProgram) -> Circuit:
    """The circuit of a program: a source for each table, a sink for each derived relation, of its name."""
    return _Lowering(checked).lower()


class _Lowering:
    def __init__(self, checked: CheckedProgram) -> None:
        self._checked = checked
        self._rules: dict[str, list[Rule]] = defaultdict(list)
        self._facts: dict[str, list[Rule]] = defaultdict(list)
        for rule in filter(None, map(simplify, checked.rules)):
            (self._rules if rule.body else self._facts)[rule.head.relation].append(rule)
        self._scope = Outside()
        self._tables: dict[str, int] = {}

    def lower(self) -> Circuit:
        builder, relations = self._scope.builder, self._checked.relations.values()
        for relation in relations:
            if relation.is_table:
                self._tables[relation.name] = builder.add(ops.Source(relation.name, relation.schema))
        for stratum in self._checked.strata:
            self._lower_stratum([self._checked.relations[name] for name in stratum])
        for relation in relations:
            if relation.is_derived:
                builder.add(ops.Sink(relation.name), self._scope.relation(relation.name))
        return builder.build()

    def _lower_stratum(self, stratum: Sequence[Relation]) -> None:
        names = {relation.name for relation in stratum}
        if any(_mentions(rule, names) for name in names for rule in self._rules[name]):
            self._lower_recursive(stratum)
        for relation in stratum:
            if relation.name not in self._scope.relations:
                self._scope.relations[relation.name] = self._union(relation, self._scope)

    def _lower_recursive(self, stratum: Sequence[Relation]) -> None:
        """Mutually recursive relations: a fixpoint whose body derives each once from the last of all."""
        inside = Inside(self._scope, {relation.name: relation.schema for relation in stratum})
        for relation in stratum:
            inside.builder.add(ops.Sink(relation.name), self._union(relation, inside))
        fixpoint = self._scope.builder.add(ops.Fixpoint(inside.builder.build()), *inside.inputs)
        for relation in stratum:
            component = self._scope.builder.add(ops.Component(relation.name), fixpoint)
            self._scope.relations[relation.name] = component

    def _union(self, relation: Relation, scope: Scope) -> int:
        """The set of all rows of a relation: its table's, its facts, and what its rules derive."""
        parts = [scope.bring(number) for number in self._given(relation)]
        parts += [lower_rule(rule, relation.schema, scope) for rule in self._rules[relation.name]]
        if not parts:
            parts.append(scope.bring(self._scope.builder.add(ops.Constant(relation.schema, ()))))
        different = dict.fromkeys(parts)
        total = parts[0] if len(different) == 1 else scope.builder.add(ops.Plus(), *different)
        return make_set(scope.builder, total)

    def _given(self, relation: Relation) -> list[int]:
        """The nodes of the whole circuit that a relation starts from."""
        given = [self._tables[relation.name]] if relation.name in self._tables else []
        rows = tuple(dict.fromkeys(row for fact in self._facts[relation.name] if None not in (row := _row(fact))))
        if rows:
            given.append(self._scope.builder.add(ops.Constant(relation.schema, rows)))
        return given


def _row(fact: Rule) -> tuple[object, ...]:
    """The values of a fact, None for what is undefined."""
    return tuple(evaluate(scalar(argument, fact), {}, {}) for argument in fact.head.arguments)


def _mentions(rule: Rule, names: set[str]) -> bool:
    """Whether the rule's body has an atom of one of these relations; it has no negated one."""
    return any(isinstance(literal, Atom) and literal.relation in names for literal in rule.body)
