"""Aggregates and existentials, which have bodies of their own: where the bodies are computed, and from which bindings.

In a recursion, bodies that do not depend on it are computed before it, in the whole circuit. Others are nodes
of the same iteration: a helper under a negation that lags an iteration behind might never reach a fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.own import UserAggregate
from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.grounding import bound_variables
from deltic.datalog.lowering.atoms import make_set, project
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.lowering.simplify import simplify
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import Expression, Variable
from deltic.datalog.syntax.formulas import bare, bodies_in, mentions_of, with_inner
from deltic.values.types import Column, Schema, Type

LowerRule = Callable[[CheckedRule, Schema, LoweringScope, bool], int]
"""The type of `lower_rule`, which is passed as a parameter because both modules need each other."""


@dataclass
class InnerBody:
    """An aggregation or existential of a rule in plain form; `place` is the circuit in which its bodies are computed.

    `keys` are the columns of its outer variables.
    """

    literal: f.Aggregation | f.Existential
    rule: CheckedRule
    scope: LoweringScope
    lower_rule: LowerRule

    def __post_init__(self) -> None:
        self.free = tuple(self.literal.free().values())
        self.keys = [self._column(variable) for variable in self.free]
        names = {variable.name for variable in self.free}
        self._binds_all = all(names <= bound_variables(body) for body in bodies_in(self.literal))
        self._known = [] if self._binds_all else _known_before(self.rule.body, self.scope)
        is_before = self._binds_all or names <= bound_variables(self._known)
        self.place = self.scope.outside if is_before and not self._is_recursive() else self.scope

    def derive(self, arguments: Sequence[Expression], body: Sequence[f.BodyFormula], columns: Sequence[Column]) -> int:
        """A node with the values of the arguments for each binding for which the body holds."""
        schema = Schema(tuple(columns))
        head = f.BodyAtom("", tuple(arguments), span=self.literal.span)
        plain = simplify(replace(self.rule, head=head, body=tuple(body)))
        if plain:
            return self.lower_rule(plain, schema, self.place, isinstance(self.literal, f.Existential))
        return self.place.constant(schema)

    def guard(self, node: int | None) -> tuple[f.BodyFormula, ...]:
        """An atom with the outer variables' values in `node`, if some body does not bind all of them itself.

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
        number = make_set(builder, project(builder, node, columns, [column(c.name) for c in columns]))
        return (f.BodyAtom(self.place.hidden(number), free, span=self.literal.span),)

    def _column(self, variable: Variable) -> Column:
        return Column(variable.name, self.rule.type_of(variable))

    def _is_recursive(self) -> bool:
        literals = (part for body in bodies_in(self.literal) for part in with_inner(body))
        atoms = (atom for literal in literals if isinstance(atom := bare(literal), f.BodyAtom))
        return any(self.scope.is_recursive(atom.relation) for atom in atoms)


def lower_existential(
    existential: f.Existential, rule: CheckedRule, scope: LoweringScope, node: int | None, lower_rule: LowerRule
) -> int:
    """A set with one column for each outer variable: the values for which one of the bodies holds.

    `node` has the bindings so far; None if the bodies need none.
    """
    inner = InnerBody(existential, rule, scope, lower_rule)
    guard = inner.guard(node)
    result = dict.fromkeys(inner.derive(inner.free, (*guard, *body), inner.keys) for body in existential.bodies)
    builder = inner.place.builder
    total = next(iter(result)) if len(result) == 1 else builder.add(ops.Plus(), *result)
    return scope.bring(make_set(builder, total), inner.place)


def _known_before(body: Sequence[f.BodyFormula], scope: LoweringScope) -> list[f.BodyFormula]:
    """The literals that do not depend on the recursion: atoms of other relations, and conditions on their variables."""

    def is_known(literal: f.BodyFormula) -> bool:
        atom = bare(literal)
        return not (isinstance(atom, f.BodyAtom) and scope.is_recursive(atom.relation))

    plain = [c for c in body if isinstance(bare(c), f.BodyAtom | f.BodyComparison | f.Test) and is_known(c)]
    bound = bound_variables(plain)
    return [c for c in plain if isinstance(c, f.BodyAtom) or all(v.name in bound for v in mentions_of(c))]


def lower_aggregation(
    aggregation: f.Aggregation, rule: CheckedRule, scope: LoweringScope, node: int, lower_rule: LowerRule
) -> int:
    """The bindings of `node`, which has all outer variables, with a column for the result of an aggregate.

    For a binding without a group `count` and `sum` are 0; `min`, `max` and `mean` have no value, so the binding is
    dropped.
    """
    inner, builder = InnerBody(aggregation, rule, scope, lower_rule), scope.builder
    number = _groups(inner, aggregation, node)
    joined = builder.add(ops.Join(), node, scope.bring(number, inner.place))
    if aggregation.function not in ("count", "sum"):
        return joined
    keys = project(inner.place.builder, number, inner.keys, [column(key.name) for key in inner.keys])
    missing = builder.add(ops.Antijoin(), node, scope.bring(make_set(inner.place.builder, keys), inner.place))
    result = Column(aggregation.result.name, rule.type_of(aggregation.result))
    return builder.add(ops.Plus(), joined, builder.add(_zero(result, builder.type_of(missing).schema), missing))


def _groups(inner: InnerBody, aggregation: f.Aggregation, node: int) -> int:
    """The keys and the result of each group, at least for the bindings of `node`."""
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
    """The types of an aggregate's targets; Python aggregates take 64-bit numbers for any word size."""
    if aggregation.entry:
        own = ACCUMULATORS[aggregation.entry]
        assert isinstance(own, UserAggregate)
        return [column.type for column in own.of]
    return [rule.type_of(target) for target in aggregation.targets]


def _defined(builder: CircuitBuilder, number: int, columns: Sequence[Column]) -> int:
    """The groups whose result, in the last column, is not NULL."""
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
