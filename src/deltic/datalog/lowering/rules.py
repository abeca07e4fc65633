"""Rules: a join of atoms, then conditions, computed variables and negated atoms, then the head."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, conjunction
from deltic.circuit.isolating import solve
from deltic.circuit.operators.keep import Keep
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.grounding import bound_by_all
from deltic.datalog.lowering.atoms import lower_absent_atom, lower_atom, make_set, project
from deltic.datalog.lowering.inner import lower_aggregation, lower_existential
from deltic.datalog.lowering.ranges import is_range, lower_range
from deltic.datalog.lowering.scalars import converted, predicate, scalar
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.lowering.wide import in_groups
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import Expression, FunctorCall, Variable, variables
from deltic.datalog.syntax.formulas import bare, is_equation, mentions_of
from deltic.values.types import Column, Schema


def lower_rule(rule: CheckedRule, schema: Schema, scope: LoweringScope, as_set: bool = True) -> int:
    """A node with the rows that a rule in plain form derives, weighted by their derivations.

    If only the set of the rows is needed, the weights may count fewer derivations.
    """
    return _RuleLowering(in_groups(rule, scope, lower_rule) if as_set else rule, scope, as_set).lower(schema)


class _RuleLowering:
    """Lowers one rule. `_pending` are the conditions that are not lowered yet."""

    def __init__(self, rule: CheckedRule, scope: LoweringScope, as_set: bool) -> None:
        self._rule, self._scope, self._builder, self._as_set = rule, scope, scope.builder, as_set
        self._pending = [
            part for part in rule.body if not isinstance(bare(part), f.BodyAtom | f.Aggregation | f.Existential)
        ]
        self._inner = [literal for literal in rule.body if isinstance(literal, f.Aggregation | f.Existential)]
        self._results = {inner.result for inner in self._inner if isinstance(inner, f.Aggregation)}
        self._shared = self._computed_by_several()
        self._values: dict[str, tuple[exp.Expression, list[str]]] = {}

    def lower(self, schema: Schema) -> int:
        atoms = [self._atom(literal) for literal in self._rule.body if isinstance(literal, f.BodyAtom)]
        node = self._add_inner(self._compute(self._join([*atoms, *self._sets()])))
        for literal in self._rule.body:
            if isinstance(literal, f.Negation) and isinstance(literal.part, f.BodyAtom | f.Existential):
                node = self._builder.add(ops.Antijoin(), node, self._excluded(literal.part, node))
        arguments = zip(self._rule.head.arguments, schema, strict=True)
        values = [converted(argument, self._rule, column.type) for argument, column in arguments]
        return project(self._builder, node, schema.columns, values)

    def _atom(self, atom: f.BodyAtom) -> int:
        """An atom, with the conditions on it alone and computed variables that join it to other atoms."""
        node = lower_atom(atom, self._rule, self._scope)
        elsewhere = {
            v.name for a in self._rule.body if isinstance(a, f.BodyAtom) and a is not atom for v in mentions_of(a)
        }
        wanted = elsewhere | self._shared
        for name, needed in reversed(self._given_by(atom).items()):
            wanted |= needed if name in wanted else set()
        return self._kept(node, self._compute(node, wanted), elsewhere | self._shared)

    def _kept(self, atom: int, computed: int, joining: set[str]) -> int:
        """An atom with computed columns, as a relation of its own if these join it to other atoms.

        Otherwise a change of another atom would scan all rows of this one, unless the equation can be inverted, as
        `y = x + 1` can.
        """
        before = self._builder.type_of(atom).schema.names
        may = self._as_set or self._builder.type_of(computed).is_set
        result = joining.intersection(self._builder.type_of(computed).schema.names).difference(before)
        if not may or all(self._is_invertible(name) for name in result):
            return computed
        return self._builder.add(Keep(self._rule.head.relation), make_set(self._builder, computed))

    def _is_invertible(self, name: str) -> bool:
        """Whether the variable is computed from one other variable, which can be computed from it in turn."""
        value, read = self._values[name]
        types = {n: self._rule.variables[n] for n in (name, *read)}
        return len(read) == 1 and solve(column(name), value, read[0], types) is not None

    def _computed_by_several(self) -> set[str]:
        """The variables that several atoms bind or determine independently: they join those atoms."""
        atoms = [literal for literal in self._rule.body if isinstance(literal, f.BodyAtom)]
        counts = Counter(name for atom in atoms for name in self._given_by(atom))
        return {name for name, count in counts.items() if count > 1}

    def _given_by(self, atom: f.BodyAtom) -> dict[str, set[str]]:
        """The variables of an atom, and those that equations compute from them, each with the variables it needs."""
        given: dict[str, set[str]] = {variable.name: set() for variable in mentions_of(atom)}
        pending = [c for c in self._pending if is_equation(c)]
        while binding := next((b for c in pending if (b := _binding(c, list(given)))), None):
            variable, value, equation = binding
            pending = [c for c in pending if c is not equation]
            given[variable.name] = {v.name for v in variables(value)}
        return given

    def _sets(self) -> list[int]:
        """The existentials whose bodies need no outer bindings, as sets to join with."""
        whole = [i for i in self._inner if isinstance(i, f.Existential) and i.free().keys() <= bound_by_all(i, ())]
        self._inner = [inner for inner in self._inner if inner not in whole]
        return [lower_existential(each, self._rule, self._scope, None, lower_rule) for each in whole]

    def _add_inner(self, node: int) -> int:
        """Join the results of aggregates and existentials, each once its outer variables are bound."""
        while self._inner:
            names = self._builder.type_of(node).schema.names
            ready = next(inner for inner in self._inner if inner.free().keys() <= _given(inner, names))
            self._inner.remove(ready)
            if isinstance(ready, f.Aggregation):
                node = lower_aggregation(ready, self._rule, self._scope, node, lower_rule)
            else:
                result = lower_existential(ready, self._rule, self._scope, node, lower_rule)
                node = self._builder.add(ops.Join(), node, result)
            node = self._compute(node)
        return node

    def _excluded(self, part: f.BodyAtom | f.Existential, node: int) -> int:
        """The bindings for which the negated literal holds."""
        if isinstance(part, f.BodyAtom):
            return lower_absent_atom(part, self._rule, self._scope)
        return lower_existential(part, self._rule, self._scope, node, lower_rule)

    def _join(self, nodes: Sequence[int]) -> int:
        if not nodes:
            return self._scope.constant(Schema(()), [()])
        different = tuple(dict.fromkeys(nodes))
        return different[0] if len(different) == 1 else self._builder.add(ops.Join(), *different)

    def _compute(self, node: int, wanted: set[str] | None = None) -> int:
        """Apply all pending conditions whose variables the node has.

        An equation that binds a new variable adds a column, but only for a variable among `wanted` (None: for any), and
        then not for floats, because equal floats may differ.
        """
        while True:
            names = self._builder.type_of(node).schema.names
            conditions = [c for c in self._pending if all(v.name in names for v in mentions_of(c))]
            node = self._within_ranges(node, conditions)
            if tests := [c for c in conditions if c in self._pending]:
                node = self._filter(node, tests)
            binding = next((b for c in self._pending if (b := _binding(c, names)) and self._may(b, wanted)), None)
            if not binding:
                return node
            node = self._extend(node, *binding)

    def _may(self, binding: tuple[Variable, Expression, f.BodyFormula], wanted: set[str] | None) -> bool:
        """Whether an equation may bind its variable; results of aggregates are bound by the aggregates."""
        variable, value, _ = binding
        if variable in self._results:
            return False
        if wanted is None:
            return True
        return variable.name in wanted and not is_range(value) and not self._rule.type_of(variable).is_float

    def _filter(self, node: int, conditions: Sequence[f.BodyFormula]) -> int:
        self._pending = [condition for condition in self._pending if condition not in conditions]
        predicates = [predicate(condition, self._rule) for condition in conditions]
        return self._builder.add(ops.Filter(conjunction(predicates)), node)

    def _extend(self, node: int, variable: Variable, value: Expression, equation: f.BodyFormula) -> int:
        self._pending.remove(equation)
        if is_range(value):
            return self._range(node, variable.name, value)
        columns = self._builder.type_of(node).schema.columns
        new = Column(variable.name, self._rule.type_of(variable))
        values: list[exp.Expression] = [column(c.name) for c in columns]
        computed = scalar(value, self._rule)
        self._values[variable.name] = computed, [v.name for v in variables(value)]
        return project(self._builder, node, (*columns, new), (*values, computed))

    def _within_ranges(self, node: int, conditions: Sequence[f.BodyFormula]) -> int:
        """The rows in which bound variables lie in all ranges that they equal."""
        schema = self._builder.type_of(node).schema
        for condition in conditions:
            if isinstance(condition, f.BodyComparison) and is_range(condition.right):
                self._pending.remove(condition)
                name = next(new for i in itertools.count() if (new := f"_in{i}") not in schema.names)
                node = self._range(node, name, condition.right)
                same = exp.EQ(this=column(name), expression=scalar(condition.left, self._rule))
                values = [column(c.name) for c in schema]
                node = project(self._builder, self._builder.add(ops.Filter(same), node), schema.columns, values)
        return node

    def _range(self, node: int, name: str, value: Expression) -> int:
        """The node's rows for each value of a range; a constant range is computed outside of a recursion."""
        assert isinstance(value, FunctorCall)
        if any(True for _ in variables(value)):
            return lower_range(self._builder, node, name, value.arguments, self._rule)
        outside = self._scope.outside
        values = lower_range(outside.builder, outside.constant(Schema(()), [()]), name, value.arguments, self._rule)
        return self._builder.add(ops.Join(), node, self._scope.bring(values, outside))


def _given(inner: f.Aggregation | f.Existential, names: Sequence[str]) -> set[str]:
    """The variables that are bound if these columns are."""
    return bound_by_all(inner, names) if isinstance(inner, f.Existential) else set(names)


def _binding(condition: f.BodyFormula, names: Sequence[str]) -> tuple[Variable, Expression, f.BodyFormula] | None:
    """The variable that an equation binds from these columns, the value, and the equation; None if it binds none."""
    if not is_equation(condition):
        return None
    for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
        computable = all(variable.name in names for variable in variables(other))
        if isinstance(side, Variable) and side.name not in names and computable:
            return side, other, condition
    return None
