"""Rules: a join of atoms, then conditions, computed variables and absent atoms, then the head."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.types import Column, Schema, Type
from deltic.datalog.checks.checked import Rule
from deltic.datalog.lowering.aggregates import lower_aggregation
from deltic.datalog.lowering.atoms import lower_absent_atom, lower_atom, project
from deltic.datalog.lowering.scalars import conjunction, predicate, scalar
from deltic.datalog.lowering.scopes import Scope
from deltic.datalog.syntax.expressions import Expression, Variable, variables
from deltic.datalog.syntax.formulas import Aggregation, Atom, Comparison, Formula, Negation, expressions_of


def lower_rule(rule: Rule, schema: Schema, scope: Scope) -> int:
    """A node with the rows that a rule in plain form derives, weighted by their derivations."""
    return _RuleLowering(rule, scope).lower(schema)


class _RuleLowering:
    """One rule on its way to nodes. `_pending` are the conditions that are not yet lowered."""

    def __init__(self, rule: Rule, scope: Scope) -> None:
        self._rule, self._scope, self._builder = rule, scope, scope.builder
        self._pending = [part for part in rule.body if not _atom_of(part) and not isinstance(part, Aggregation)]
        self._aggregations = [literal for literal in rule.body if isinstance(literal, Aggregation)]
        self._results = {aggregation.result for aggregation in self._aggregations}

    def lower(self, schema: Schema) -> int:
        node = self._join([self._atom(literal) for literal in self._rule.body if isinstance(literal, Atom)])
        node = self._aggregate(self._compute(node))
        for literal in self._rule.body:
            atom = _atom_of(literal)
            if atom and isinstance(literal, Negation):
                node = self._builder.add(ops.Antijoin(), node, lower_absent_atom(atom, self._rule, self._scope))
        values = [scalar(argument, self._rule) for argument in self._rule.head.arguments]
        return project(self._builder, node, schema.columns, values)

    def _atom(self, atom: Atom) -> int:
        """An atom, with the conditions on it alone and the variables that join it to other atoms."""
        node = lower_atom(atom, self._rule, self._scope)
        elsewhere = {v.name for a in self._rule.body if isinstance(a, Atom) and a is not atom for v in _variables(a)}
        return self._compute(node, elsewhere)

    def _aggregate(self, node: int) -> int:
        """Add the result of each aggregate, when what it needs from outside is there."""
        while self._aggregations:
            names = self._builder.type_of(node).schema.names
            ready = next(a for a in self._aggregations if a.free().keys() <= set(names))
            self._aggregations.remove(ready)
            node = self._compute(lower_aggregation(ready, self._rule, self._scope, node, lower_rule))
        return node

    def _join(self, nodes: Sequence[int]) -> int:
        if not nodes:
            nowhere = ops.Constant(Schema(()), ((),))
            return self._scope.bring(self._scope.outside.builder.add(nowhere))
        different = tuple(dict.fromkeys(nodes))
        return different[0] if len(different) == 1 else self._builder.add(ops.Join(), *different)

    def _compute(self, node: int, wanted: set[str] | None = None) -> int:
        """Apply every pending condition whose variables the node has.

        An equation that gives a new variable its value adds a column, but only for a variable among
        `wanted` (None: for any), and then no float, of which equal ones may differ.
        """
        while True:
            names = self._builder.type_of(node).schema.names
            conditions = [c for c in self._pending if all(v.name in names for v in _variables(c))]
            if conditions:
                node = self._filter(node, conditions)
            binding = next((b for c in self._pending if (b := _binding(c, names)) and self._may(b[0], wanted)), None)
            if not binding:
                return node
            node = self._extend(node, *binding)

    def _may(self, variable: Variable, wanted: set[str] | None) -> bool:
        """Whether an equation may give this variable its value; aggregates bind their results themselves."""
        if variable in self._results:
            return False
        if wanted is None:
            return True
        return variable.name in wanted and self._rule.type_of(variable) is not Type.FLOAT64

    def _filter(self, node: int, conditions: Sequence[Formula]) -> int:
        self._pending = [condition for condition in self._pending if condition not in conditions]
        predicates = [predicate(condition, self._rule) for condition in conditions]
        return self._builder.add(ops.Filter(conjunction(predicates)), node)

    def _extend(self, node: int, variable: Variable, value: Expression, equation: Formula) -> int:
        self._pending.remove(equation)
        columns = self._builder.type_of(node).schema.columns
        new = Column(variable.name, self._rule.type_of(variable))
        values: list[exp.Expression] = [column(c.name) for c in columns]
        return project(self._builder, node, (*columns, new), (*values, scalar(value, self._rule)))


def _atom_of(literal: Formula) -> Atom | None:
    """The atom of an atom or a negated atom."""
    inner = literal.part if isinstance(literal, Negation) else literal
    return inner if isinstance(inner, Atom) else None


def _variables(literal: Formula) -> list[Variable]:
    return [variable for expression in expressions_of(literal) for variable in variables(expression)]


def _binding(condition: Formula, names: Sequence[str]) -> tuple[Variable, Expression, Formula] | None:
    """The variable to which an equation gives a value computed from columns of these names, and the value."""
    if not (isinstance(condition, Comparison) and condition.operator == "="):
        return None
    for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
        computable = all(variable.name in names for variable in variables(other))
        if isinstance(side, Variable) and side.name not in names and computable:
            return side, other, condition
    return None
