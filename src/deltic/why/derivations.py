"""How each operator names the premises of a row: a row of `derivations` for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, conjuncts, is_not_null, show
from deltic.circuit.operators.semijoin import Semijoin
from deltic.why.explanation import Absence, Note
from deltic.why.relations import Bound, Relation, RelationScope, Row, named, same
from deltic.why.rows import PASSED, Evaluator, unexplained

_SAMPLE = 10
"""Rows of a group that are told; of others their number."""


@dataclass(frozen=True)
class Fact:
    """A row of a relation, to be explained in turn."""

    relation: Relation
    row: Row


Premise = Fact | Absence | Note


@dataclass(frozen=True)
class Derivation:
    """Premises that give a row together, and the values of the columns that were joined for it.

    In a recursion, `lasts` says whether they all hold in the end, too.
    """

    premises: tuple[Premise, ...] = ()
    variables: Bound = field(default_factory=dict)
    lasts: bool = True

    def with_(self, other: Derivation) -> Derivation:
        """Both together."""
        variables = {**self.variables, **other.variables}
        return Derivation((*self.premises, *other.premises), variables, self.lasts and other.lasts)


class RowDerivations:
    """The ways in which nodes make a row, one by one."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.of = evaluator

    def of_row(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The derivations of a row of a node; none where the row is not there."""
        leaf = self.of.leaf(scope, number)
        schema = scope.circuit.type_of(number).schema
        if isinstance(leaf, tuple):
            yield from self.of_row(*leaf, row)
            return
        if leaf is not None:
            if self.of.rows_of(leaf, named(row, schema)).get(row, 0) > 0:
                yield Derivation((Fact(leaf, row),), lasts=self.of.in_the_end(leaf, row))
            return
        operator = scope.circuit.nodes[number].operator
        if type(operator) not in _DERIVATIONS:
            raise unexplained(operator)
        yield from _DERIVATIONS[type(operator)](self, scope, number, row)

    def of_constant(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """A constant row needs no premise."""
        if self.of.rows(scope, number, named(row, scope.circuit.type_of(number).schema)):
            yield Derivation()

    def of_passed(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The same row of the input."""
        return self.of_row(scope, scope.circuit.nodes[number].inputs[0], row)

    def of_filter(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The row of the input, and the condition, but for what the premises show: equal columns, columns not NULL."""
        operator, values = scope.circuit.nodes[number].operator, named(row, scope.circuit.type_of(number).schema)
        assert isinstance(operator, ops.Filter)
        columns = [column(name) for name in columns_of(operator.predicate)]
        if self.of.passes(operator, row, scope.circuit.type_of(number).schema):
            plain = [part for part in conjuncts(operator.predicate) if part not in map(is_not_null, columns)]
            tests = [show(part) for part in plain if not _is_of_columns(part)]
            condition = Derivation((Note(f"where {' AND '.join(tests)}"),) if tests else (), values)
            yield from (below.with_(condition) for below in self.of_passed(scope, number, row))

    def of_plus(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The row of one of the inputs."""
        for i in scope.circuit.nodes[number].inputs:
            yield from self.of_row(scope, i, row)

    def of_negate(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """A row that is taken away is no reason for one."""
        return iter(())

    def of_map(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """A row of the input from which it is computed."""
        operator, (below,) = scope.circuit.nodes[number].operator, scope.circuit.nodes[number].inputs
        assert isinstance(operator, ops.Map)
        passed = self.of.passed(scope, number, named(row, scope.circuit.type_of(number).schema))
        for origin in () if passed is None else self.of.stream(scope, below, passed):
            result = self.of.mapped(operator, origin, scope, number)
            if result is not None and all(map(same, result, row)):
                yield from self.of_row(scope, below, origin)

    def of_join(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """A row of each input."""
        values = named(row, scope.circuit.type_of(number).schema)
        for derivation in self._all(scope, scope.circuit.nodes[number].inputs, values):
            yield derivation.with_(Derivation((), values))

    def of_antijoin(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The row of the first input, and that the second has none."""
        left, right = scope.circuit.nodes[number].inputs
        values = named(row, scope.circuit.type_of(number).schema)
        absent = self.absent(scope, right, {name: values[name] for name in scope.circuit.type_of(right).schema.names})
        if absent is not None:
            yield from (d.with_(absent).with_(Derivation((), values)) for d in self.of_row(scope, left, row))

    def of_flat_map(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The row of the input that generates it."""
        if self.of.rows(scope, number, named(row, scope.circuit.type_of(number).schema)).get(row, 0) > 0:
            yield from self.of_passed(scope, number, row[:-1])

    def _all(self, scope: RelationScope, inputs: tuple[int, ...], values: Bound) -> Iterator[Derivation]:
        """A derivation of each input's row that has these values, in all combinations."""
        if not inputs:
            yield Derivation()
            return
        first, *others = inputs
        row = tuple(values[name] for name in scope.circuit.type_of(first).schema.names)
        for derivation in self.of_row(scope, first, row):
            yield from (derivation.with_(other) for other in self._all(scope, tuple(others), values))

    def absent(self, scope: RelationScope, number: int, bound: Bound) -> Derivation | None:
        """Why there is no row with these values; None where there is one.

        Where rows are missing because each candidate is excluded, as in "for all", what excludes each is a premise.
        """
        if self.of.rows(scope, number, bound):
            return None
        absence, end = self._absence(scope, number, bound), self.of.end_of(scope)
        return absence if end is scope else replace(absence, lasts=not self.of.rows(end, number, bound))

    def _absence(self, scope: RelationScope, number: int, bound: Bound) -> Derivation:
        leaf = self.of.leaf(scope, number)
        if isinstance(leaf, tuple):
            return self._absence(*leaf, bound)
        if leaf is not None:
            return Derivation((Absence(leaf.name, dict(bound), self.of.absent_until(leaf, bound)),))
        node = scope.circuit.nodes[number]
        operator, inputs = node.operator, node.inputs
        if isinstance(operator, PASSED):
            return self._absence(scope, inputs[0], bound)
        if isinstance(operator, ops.Filter) and not self.of.rows(scope, inputs[0], bound):
            return self._absence(scope, inputs[0], bound)
        if isinstance(operator, ops.Aggregate | ops.Top | ops.Over | ops.FlatMap):
            grouped = self.of.grouped(scope, number, bound)
            if not self.of.rows(scope, inputs[0], grouped):
                return self._absence(scope, inputs[0], grouped)
        if isinstance(operator, ops.Map):
            passed = {
                e.name: bound[c.name]
                for c, e in zip(operator.columns, operator.expressions, strict=True)
                if c.name in bound and e.key == "column"
            }
            if len(passed) == len(bound) and not self.of.rows(scope, inputs[0], passed):
                return self._absence(scope, inputs[0], passed)
        if isinstance(operator, ops.Plus):
            parts = [self._absence(scope, i, bound) for i in inputs if not self.of.rows(scope, i, bound)]
            return Derivation(tuple(premise for part in parts for premise in part.premises))
        if isinstance(operator, ops.Antijoin):
            return self._for_all(scope, inputs, bound)
        return Derivation((Absence(f"{operator.keyword} over {self._names(scope, number)}", dict(bound)),))

    def _for_all(self, scope: RelationScope, inputs: tuple[int, ...], bound: Bound) -> Derivation:
        """For each row of the first input the row of the second that excludes it."""
        left, right = (scope.circuit.type_of(i).schema for i in inputs)
        rows = self.of.rows(scope, inputs[0], bound)
        if not rows:
            return self._absence(scope, inputs[0], bound)
        result = Derivation((Note(f"for each of {len(rows):,} rows of {self._names(scope, inputs[0])}:"),))
        for row in rows:
            key = tuple(named(row, left)[name] for name in right.names)
            domain, excluding = (next(self.of_row(scope, i, r)) for i, r in zip(inputs, (row, key), strict=True))
            result = Derivation((*result.premises, *domain.premises, *excluding.premises))
        return result

    def _names(self, scope: RelationScope, number: int) -> str:
        """The relations that a node reads."""
        leaves = (self.of.leaf(scope, n) for n in sorted(scope.circuit.ancestors([number])))
        names = [self._names(*leaf) if isinstance(leaf, tuple) else leaf.name for leaf in leaves if leaf is not None]
        return ", ".join(dict.fromkeys(names))

    def of_group(self, scope: RelationScope, number: int, row: Row) -> Iterator[Derivation]:
        """The rows of the group that decide, and how many there are."""
        node, schema = scope.circuit.nodes[number], scope.circuit.type_of(number).schema
        values = named(row, schema)
        if self.of.rows(scope, number, values).get(row, 0) <= 0:
            return
        group = self.of.rows(scope, node.inputs[0], self.of.grouped(scope, number, values))
        source = scope.circuit.type_of(node.inputs[0]).schema
        chosen = _deciding(node.operator, [named(each, source) for each in group], values)
        ways = (way for each in chosen for way in self.of_row(scope, node.inputs[0], tuple(each.values())))
        taken = list(islice(ways, _SAMPLE + 1))
        told = f"{node.operator.label}: {len(group):,} row{'s' * (len(group) != 1)}"
        told += f", {len(chosen):,} decide" if len(chosen) < len(group) else ""
        told += f", {_SAMPLE} of them shown" if len(taken) > _SAMPLE else ""
        below = tuple(premise for way in taken[:_SAMPLE] for premise in way.premises)
        end = self.of.end_of(scope)
        lasts = end is scope or self.of.rows(end, number, values).get(row, 0) > 0
        yield Derivation((Note(told), *below), values, lasts and all(way.lasts for way in taken))


_Way = Callable[[RowDerivations, RelationScope, int, Row], Iterator[Derivation]]
_DERIVATIONS: dict[type[ops.Operator], _Way] = {
    ops.Constant: RowDerivations.of_constant,
    **dict.fromkeys(PASSED, RowDerivations.of_passed),
    ops.Filter: RowDerivations.of_filter,
    ops.Plus: RowDerivations.of_plus,
    ops.Negate: RowDerivations.of_negate,
    ops.Map: RowDerivations.of_map,
    ops.Join: RowDerivations.of_join,
    Semijoin: RowDerivations.of_join,
    ops.Antijoin: RowDerivations.of_antijoin,
    ops.FlatMap: RowDerivations.of_flat_map,
    ops.Aggregate: RowDerivations.of_group,
    ops.Top: RowDerivations.of_group,
    ops.Over: RowDerivations.of_group,
}
"""How each operator names the premises of a row of its output."""


def _is_of_columns(condition: exp.Expression) -> bool:
    """Whether a condition is that two columns are equal."""
    sides = condition.this, condition.expression
    return isinstance(condition, exp.EQ | exp.NullSafeEQ) and all(isinstance(side, exp.Column) for side in sides)


def _deciding(operator: ops.Operator, group: list[dict[str, Any]], values: Bound) -> list[dict[str, Any]]:
    """The rows of a group that decide: those with the extreme for min and max, the row itself in top-k."""
    if isinstance(operator, ops.Top):
        return [row for row in group if all(same(row[name], values[name]) for name in row)]
    if (
        isinstance(operator, ops.Aggregate)
        and operator.calls
        and all(c.function in ("min", "max") for c in operator.calls)
    ):
        return [row for row in group if any(same(row[c.column], values[c.name]) for c in operator.calls)]
    if isinstance(operator, ops.Over):  # the row first
        return sorted(group, key=lambda row: not all(same(row[name], values[name]) for name in row))
    return group
