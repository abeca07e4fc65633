"""Rules: a join of atoms, then conditions, computed variables and negated atoms, then the head.

Aggregates and existentials have bodies of their own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.own import UserAggregate
from deltic.circuit.expressions import cast, column, conjunction, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.isolating import solve
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.grounding import bound_by_all, bound_variables
from deltic.datalog.lowering.atoms import lower_absent_atom, lower_atom, project
from deltic.datalog.lowering.ranges import is_range, lower_range
from deltic.datalog.lowering.scalars import converted, predicate, scalar
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.lowering.simplify import simplify
from deltic.datalog.lowering.wide import in_groups
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import Expression, FunctorCall, Variable, variables
from deltic.datalog.syntax.formulas import bare, bodies_in, is_equation, mentions_of, with_inner
from deltic.values.types import Column, Schema, Type


def lower_rule(rule: CheckedRule, schema: Schema, scope: LoweringScope, as_set: bool = True) -> int:
    """Return a node with the rows that a rule in plain form derives, weighted by their derivations.

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
        for part in self._rule.body:
            if isinstance(part, f.Negation) and isinstance(part.part, f.BodyAtom | f.Existential):
                node = self._builder.add(ops.Antijoin(), node, self._excluded(part.part, node))
        arguments = zip(self._rule.head.arguments, schema, strict=True)
        values = [converted(argument, self._rule, column.type) for argument, column in arguments]
        return project(self._builder, node, schema.columns, values)

    def _atom(self, atom: f.BodyAtom) -> int:
        """Return an atom, with the conditions on it alone and computed variables that join it to other atoms."""
        node = lower_atom(atom, self._rule, self._scope)
        elsewhere = {
            v.name for a in self._rule.body if isinstance(a, f.BodyAtom) and a is not atom for v in mentions_of(a)
        }
        wanted = elsewhere | self._shared
        for name, needed in reversed(self._given_by(atom).items()):
            wanted |= needed if name in wanted else set()
        return self._kept(node, self._compute(node, wanted), elsewhere | self._shared)

    def _kept(self, atom: int, computed: int, joining: set[str]) -> int:
        """Return an atom with computed columns, as a relation of its own if these join it to other atoms.

        Otherwise a change of another atom would scan all rows of this one, unless the equation can be inverted, as
        `y = x + 1` can.
        """
        before = self._builder.type_of(atom).schema.names
        may = self._as_set or self._builder.type_of(computed).is_set
        result = joining.intersection(self._builder.type_of(computed).schema.names).difference(before)
        if not may or all(self._is_invertible(name) for name in result):
            return computed
        return self._builder.add(ops.Keep(self._rule.head.relation), self._builder.distinct(computed))

    def _is_invertible(self, name: str) -> bool:
        """Return whether the variable is computed from one other variable, which can be computed from it in turn."""
        value, read = self._values[name]
        types = {n: self._rule.variables[n] for n in (name, *read)}
        return len(read) == 1 and solve(column(name), value, read[0], types) is not None

    def _computed_by_several(self) -> set[str]:
        """Return the variables that several atoms bind or determine independently: they join those atoms."""
        atoms = [literal for literal in self._rule.body if isinstance(literal, f.BodyAtom)]
        counts = Counter(name for atom in atoms for name in self._given_by(atom))
        return {name for name, count in counts.items() if count > 1}

    def _given_by(self, atom: f.BodyAtom) -> dict[str, set[str]]:
        """Return the variables of an atom, and those that equations compute from them, each with those it needs."""
        given: dict[str, set[str]] = {variable.name: set() for variable in mentions_of(atom)}
        pending = [c for c in self._pending if is_equation(c)]
        while binding := next((b for c in pending if (b := _binding(c, list(given)))), None):
            variable, value, equation = binding
            pending = [c for c in pending if c is not equation]
            given[variable.name] = {v.name for v in variables(value)}
        return given

    def _sets(self) -> list[int]:
        """Return the existentials whose bodies need no outer bindings, as sets to join with."""
        whole = [i for i in self._inner if isinstance(i, f.Existential) and i.free().keys() <= bound_by_all(i, ())]
        self._inner = [inner for inner in self._inner if inner not in whole]
        return [_lower_existential(each, self._rule, self._scope, None) for each in whole]

    def _add_inner(self, node: int) -> int:
        """Join the results of aggregates and existentials, each once its outer variables are bound."""
        while self._inner:
            names = self._builder.type_of(node).schema.names
            ready = next(inner for inner in self._inner if inner.free().keys() <= _given(inner, names))
            self._inner.remove(ready)
            if isinstance(ready, f.Aggregation):
                node = _lower_aggregation(ready, self._rule, self._scope, node)
            else:
                result = _lower_existential(ready, self._rule, self._scope, node)
                node = self._builder.add(ops.Join(), node, result)
            node = self._compute(node)
        return node

    def _excluded(self, part: f.BodyAtom | f.Existential, node: int) -> int:
        """Return the bindings for which the negated literal holds."""
        if isinstance(part, f.BodyAtom):
            return lower_absent_atom(part, self._rule, self._scope)
        return _lower_existential(part, self._rule, self._scope, node)

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
        """Return whether an equation may bind its variable; results of aggregates are bound by the aggregates."""
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
        """Return the rows in which bound variables lie in all ranges that they equal."""
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
        """Return the node's rows for each value of a range; a constant range is computed outside of a recursion."""
        assert isinstance(value, FunctorCall)
        if any(True for _ in variables(value)):
            return lower_range(self._builder, node, name, value.arguments, self._rule)
        outside = self._scope.outside
        values = lower_range(outside.builder, outside.constant(Schema(()), [()]), name, value.arguments, self._rule)
        return self._builder.add(ops.Join(), node, self._scope.bring(values, outside))


def _given(inner: f.Aggregation | f.Existential, names: Sequence[str]) -> set[str]:
    """Return the variables that are bound if these columns are."""
    return bound_by_all(inner, names) if isinstance(inner, f.Existential) else set(names)


def _binding(condition: f.BodyFormula, names: Sequence[str]) -> tuple[Variable, Expression, f.BodyFormula] | None:
    """Return the variable that an equation binds from these columns, its value, and the equation; None if none."""
    if not is_equation(condition):
        return None
    for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
        computable = all(variable.name in names for variable in variables(other))
        if isinstance(side, Variable) and side.name not in names and computable:
            return side, other, condition
    return None


@dataclass
class _InnerBody:
    """An aggregation or existential of a rule in plain form; `place` is the circuit in which its bodies are computed.

    In a recursion, bodies that do not depend on it are computed before it, in the whole circuit. Others are nodes of
    the same iteration: a helper under a negation that lags an iteration behind might never reach a fixpoint. `keys` are
    the columns of its outer variables.
    """

    literal: f.Aggregation | f.Existential
    rule: CheckedRule
    scope: LoweringScope

    def __post_init__(self) -> None:
        self.free = tuple(self.literal.free().values())
        self.keys = [self._column(variable) for variable in self.free]
        names = {variable.name for variable in self.free}
        self._binds_all = all(names <= bound_variables(body) for body in bodies_in(self.literal))
        self._known = [] if self._binds_all else _known_before(self.rule.body, self.scope)
        is_before = self._binds_all or names <= bound_variables(self._known)
        self.place = self.scope.outside if is_before and not self._is_recursive() else self.scope

    def derive(self, arguments: Sequence[Expression], body: Sequence[f.BodyFormula], columns: Sequence[Column]) -> int:
        """Return a node with the values of the arguments for each binding for which the body holds."""
        schema = Schema(tuple(columns))
        head = f.BodyAtom("", tuple(arguments), span=self.literal.span)
        plain = simplify(replace(self.rule, head=head, body=tuple(body)))
        if plain:
            return lower_rule(plain, schema, self.place, isinstance(self.literal, f.Existential))
        return self.place.constant(schema)

    def guard(self, node: int | None) -> tuple[f.BodyFormula, ...]:
        """Return an atom with the outer variables' values in `node`, if some body does not bind all of them itself.

        If the bodies are computed before a recursion, these are the values that are known there.
        """
        if self._binds_all or node is None:
            return ()
        builder = self.place.builder
        if self.place is self.scope:
            names = builder.type_of(node).schema.names
            free = tuple(variable for variable in self.free if variable.name in names)
        else:
            free, node = self.free, self.derive(self.free, self._known, self.keys)
        columns = [self._column(variable) for variable in free]
        number = builder.distinct(project(builder, node, columns, [column(c.name) for c in columns]))
        return (f.BodyAtom(self.place.hidden(number), free, span=self.literal.span),)

    def _column(self, variable: Variable) -> Column:
        return Column(variable.name, self.rule.type_of(variable))

    def _is_recursive(self) -> bool:
        literals = (part for body in bodies_in(self.literal) for part in with_inner(body))
        atoms = (atom for literal in literals if isinstance(atom := bare(literal), f.BodyAtom))
        return any(self.scope.is_recursive(atom.relation) for atom in atoms)


def _lower_existential(existential: f.Existential, rule: CheckedRule, scope: LoweringScope, node: int | None) -> int:
    """Return a set with one column for each outer variable: the values for which one of the bodies holds.

    `node` has the bindings so far; None if the bodies need none.
    """
    inner = _InnerBody(existential, rule, scope)
    guard = inner.guard(node)
    result = dict.fromkeys(inner.derive(inner.free, (*guard, *body), inner.keys) for body in existential.bodies)
    builder = inner.place.builder
    total = next(iter(result)) if len(result) == 1 else builder.add(ops.Plus(), *result)
    return scope.bring(builder.distinct(total), inner.place)


def _known_before(body: Sequence[f.BodyFormula], scope: LoweringScope) -> list[f.BodyFormula]:
    """Return the literals independent of the recursion: atoms of other relations, and conditions on their variables."""

    def is_known(literal: f.BodyFormula) -> bool:
        atom = bare(literal)
        return not (isinstance(atom, f.BodyAtom) and scope.is_recursive(atom.relation))

    plain = [c for c in body if isinstance(bare(c), f.BodyAtom | f.BodyComparison | f.Test) and is_known(c)]
    bound = bound_variables(plain)
    return [c for c in plain if isinstance(c, f.BodyAtom) or all(v.name in bound for v in mentions_of(c))]


def _lower_aggregation(aggregation: f.Aggregation, rule: CheckedRule, scope: LoweringScope, node: int) -> int:
    """Return the bindings of `node`, which has all outer variables, with a column for the result of an aggregate.

    For a binding without a group `count` and `sum` are 0; `min`, `max` and `mean` have no value, so the binding is
    dropped.
    """
    inner, builder = _InnerBody(aggregation, rule, scope), scope.builder
    number = _groups(inner, aggregation, node)
    joined = builder.add(ops.Join(), node, scope.bring(number, inner.place))
    if aggregation.function not in ("count", "sum"):
        return joined
    keys = project(inner.place.builder, number, inner.keys, [column(key.name) for key in inner.keys])
    missing = builder.add(ops.Antijoin(), node, scope.bring(inner.place.builder.distinct(keys), inner.place))
    result = Column(aggregation.result.name, rule.type_of(aggregation.result))
    return builder.add(ops.Plus(), joined, builder.add(_zero(result, builder.type_of(missing).schema), missing))


def _groups(inner: _InnerBody, aggregation: f.Aggregation, node: int) -> int:
    """Return the keys and the result of each group, at least for the bindings of `node`."""
    name, targets = aggregation.result.name, aggregation.targets
    wanted = _taken(aggregation, inner.rule)
    values = [Column(f"{name}{'.' * i}", type_) for i, type_ in enumerate(wanted)]
    rows = inner.derive((*inner.free, *targets), (*inner.guard(node), *aggregation.body), [*inner.keys, *values])
    first, *others = (column.name for column in values) if values else ("",)
    call = ops.AggregateCall(aggregation.entry or aggregation.function, first, name, tuple(others))
    builder = inner.place.builder
    result = builder.add(ops.Aggregate(tuple(key.name for key in inner.keys), (call,)), rows)
    columns = builder.type_of(result).schema.columns
    result = _defined(builder, result, columns) if columns[-1].nullable else result
    type_ = inner.rule.type_of(aggregation.result)
    if columns[-1].type is type_:
        return result
    values_of = (*(column(key.name) for key in columns[:-1]), cast(column(name), type_))
    return project(builder, result, (*columns[:-1], Column(name, type_)), values_of)


def _taken(aggregation: f.Aggregation, rule: CheckedRule) -> list[Type]:
    """Return the types of an aggregate's targets; Python aggregates take 64-bit numbers for any word size."""
    if aggregation.entry:
        own = ACCUMULATORS[aggregation.entry]
        assert isinstance(own, UserAggregate)
        return [column.type for column in own.of]
    return [rule.type_of(target) for target in aggregation.targets]


def _defined(builder: CircuitBuilder, number: int, columns: Sequence[Column]) -> int:
    """Return the groups whose result, in the last column, is not NULL."""
    is_null = exp.Is(this=column(columns[-1].name), expression=exp.Null())
    there = builder.add(ops.Filter(exp.Not(this=is_null)), number)
    plain = (*columns[:-1], replace(columns[-1], nullable=False))
    return builder.add(ops.Map(plain, tuple(column(c.name) for c in plain), partial=True), there)


def _zero(result: Column, bindings: Schema) -> ops.Operator:
    """Adds a result of 0 to bindings; if an atom has bound the result already, it keeps bindings with 0."""
    nothing = literal(0, result.type)
    if result.name in bindings.names:
        return ops.Filter(exp.EQ(this=column(result.name), expression=nothing))
    return ops.Map((*bindings.columns, result), (*map(column, bindings.names), nothing))
