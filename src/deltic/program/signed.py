"""Lowering of recursions that are not monotone: each relation of the body keeps a history of its iterations.

A row of such a recursion may be inserted at one iteration and deleted at a later one. Each relation of the body is the
sum of (row, iteration, change of weight). A rule derives at the greatest iteration of the rows that it joins, and
relations that close a cycle receive the row one iteration later. The change of an epoch is the change of the
histories, so no derivative of the body is needed: rules are linear in each relation, and other operators examine the
groups whose histories change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.graph import Circuit
from deltic.circuit.improving import improves
from deltic.program.conjunctions import is_plain, product
from deltic.program.definitions import Derived, FixedRows
from deltic.program.histories import BY_ITERATION, Applied, Examined, Historical, History, Nested, PriorityOrder
from deltic.program.operators.aggregate import Grouped, GroupedAggregate
from deltic.program.operators.join import without
from deltic.program.operators.linear import Expanded
from deltic.program.operators.over import TopRows, Windows
from deltic.program.program import Stratum
from deltic.program.queries import Body
from deltic.program.scope import BODIES, DraftRelation, ProgramBuilder, Scope
from deltic.program.unsupported import in_recursion
from deltic.values.types import Kind, Schema

# The number of conjunctions from which on a join or an antijoin reads their sum as one relation.
_MANY = 4
_LINEAR = (ops.Import, ops.Feedback, ops.Map, ops.Filter, ops.Plus, ops.Negate)


def lower_signed(drafts: ProgramBuilder, operator: ops.FixpointDelta, imports: Sequence[str]) -> dict[str, str]:
    """Return the relations of a fixpoint by their names in its body: their final contents, each from its history."""
    scope = _Signed(drafts, operator.body, imports)
    histories = scope.lower()
    drafts.place(Stratum(tuple(scope.members), recursive=True, refresh=operator.refresh, signed=True))
    result: dict[str, str] = {}
    for name, number in operator.body.sinks.items():
        body = scope.atom(histories[name], number)
        result[name] = scope.declare(name, number, Derived(operator.body.type_of(number).is_set))
        scope.enter(result[name], number, [body])
        scope.place(result[name])
    return result


class _Signed(Scope):
    """Lowers one body; `members` are its relations, each after those that it reads at its own iteration.

    `entering` are the input relations of functions of whole relations, by node. Where the body `improves`, minima and
    maxima are processed in order of their values.
    """

    def __init__(self, drafts: ProgramBuilder, body: Circuit, imports: Sequence[str]) -> None:
        super().__init__(drafts, body, imports)
        self._body = body
        self.members: list[str] = []
        self.entering: dict[int, str] = {}
        self.improves = improves(body) and not drafts.by_iteration

    def lower(self) -> dict[str, str]:
        """Return the histories of the sinks, by name."""
        for name, number in self._body.sinks.items():
            self.feedback[name] = self._member(f"{name}{BY_ITERATION}", number, History(1))
        for name, number in self._body.sinks.items():
            examine = EXAMINED.get(type(self.circuit.nodes[number].operator))
            if examine is not None and len(self._body.readers[number]) == 1:
                draft, definition = self.drafts.relations[self.feedback[name]], examine(self, number, 1)
                self.drafts.relations[self.feedback[name]] = replace(draft, definition=definition)
            else:
                self.enter(self.feedback[name], number, self.bodies(number))
        return self.feedback

    def bodies(self, number: int) -> list[Body]:
        operator, inputs = self.circuit.nodes[number].operator, self.circuit.nodes[number].inputs
        if isinstance(operator, _LINEAR):
            return BODIES[type(operator)](self, operator, self.circuit.nodes[number])
        if isinstance(operator, ops.Join | ops.Semijoin):
            return product(map(self._few, inputs))
        if isinstance(operator, ops.Antijoin):
            return self._antijoin(*inputs)
        if isinstance(operator, ops.Keep):
            return self.bodies(*inputs)
        return [self.atom(self.relation(number), number)]

    def relation(self, number: int) -> str:
        if number not in self.made:
            self.made[number] = self._relation(number)
        return self.made[number]

    def _relation(self, number: int) -> str:
        operator = self.circuit.nodes[number].operator
        if isinstance(operator, ops.Constant):
            return self.defined("", number, FixedRows(operator.rows))
        if examine := EXAMINED.get(type(operator)):
            return self._member("", number, examine(self, number, 0))
        if isinstance(operator, (*_LINEAR, ops.Join, ops.Semijoin, ops.Antijoin, ops.Keep)):
            return self.summed(number)
        if isinstance(operator, ops.BundleRelation):
            return self._nested(number, operator.name)
        if isinstance(operator, ops.Apply):
            inputs = self.circuit.nodes[number].inputs
            return self._member("", number, Applied(0, self._entered(inputs), operator))
        raise in_recursion(number, operator)

    def _nested(self, number: int, component: str) -> str:
        """Return a relation of a nested fixpoint."""
        (bundle,) = self.circuit.nodes[number].inputs
        fixpoint, inputs = self.circuit.nodes[bundle].operator, self.circuit.nodes[bundle].inputs
        assert isinstance(fixpoint, ops.Fixpoint)
        return self._member("", number, Nested(0, self._entered(inputs), fixpoint, component))

    def _entered(self, inputs: Sequence[int]) -> tuple[str, ...]:
        """Return the histories of the inputs of a function of whole relations."""
        for given in inputs:
            if given not in self.entering:
                self.entering[given] = self.summed(given, role="rows")
        return tuple(self.entering[given] for given in inputs)

    def summed(
        self, number: int, columns: Sequence[str] = (), role: str = "", admission: PriorityOrder | None = None
    ) -> str:
        """Return the history of a node, or of some of its columns."""
        bodies, schema = self.bodies(number), self.circuit.type_of(number).schema
        chosen = schema.part(columns or schema.names)
        name = self.drafts.declare(DraftRelation("", chosen, History(0, admission), role))
        self.members.append(name)
        self.enter(name, number, bodies, columns)
        return name

    def _member(self, wanted: str, number: int, definition: Historical) -> str:
        name = self.declare(wanted, number, definition)
        self.members.append(name)
        return name

    def _few(self, number: int) -> list[Body]:
        """Return the conjunctions of a node; many are read as one, the relation of their sum."""
        bodies = self.bodies(number)
        return bodies if len(bodies) < _MANY else [self.atom(self.relation(number), number)]

    def _antijoin(self, left: int, right: int) -> list[Body]:
        """a ▷ b is a − a ⋈ b, for a set b over columns of a.

        If b is an import, which is constant over the iterations, it becomes a negated atom.
        """
        there, taken = self._few(left), self.bodies(right)
        if isinstance(self.circuit.nodes[right].operator, ops.Import) and is_plain(taken[0]):
            return [without(self, body, taken[0]) for body in there]
        lost = product(map(self._few, (left, right)))
        return [*there, *(replace(body, sign=-body.sign) for body in lost)]


# Defines the function over the groups of a node's input, from the node's number and its delay.
Examine = Callable[[_Signed, int, int], Examined]


def _distinct(scope: _Signed, number: int, delay: int) -> Examined:
    (source,) = scope.circuit.nodes[number].inputs
    return Examined(delay, scope.summed(source, role="rows"), tuple(_columns(scope, source)), None)


def _aggregate(scope: _Signed, number: int, delay: int) -> Examined:
    op, (source,) = _node(scope, number, ops.Aggregate)
    columns = tuple(dict.fromkeys((*op.keys, *(name for call in op.calls for name in call.columns))))
    calls = tuple(GroupedAggregate(c.function, tuple(map(columns.index, c.columns)), c.parameters) for c in op.calls)
    is_free = scope.improves and scope.is_recursive(number)
    admission = _admission(calls, scope.circuit.type_of(source).schema, columns) if is_free else None
    rows = scope.summed(source, columns, "rows", admission)
    keys = tuple(range(len(op.keys)))
    return Examined(delay, rows, keys, Grouped(rows, len(op.keys), calls))


def _admission(calls: Sequence[GroupedAggregate], schema: Schema, columns: Sequence[str]) -> PriorityOrder | None:
    """Return the order in which an aggregate's rows enter: that of its first minimum or maximum of a number."""
    for call in calls:
        like, read = ACCUMULATORS[call.function].like, schema.column(columns[call.columns[0]])
        is_counted = read.type.is_integer and read.type.kind is not Kind.UINT64
        if like in ("min", "max") and (is_counted or read.type.is_float):
            return PriorityOrder(call.columns[0], like == "min")
    return None


def _top(scope: _Signed, number: int, delay: int) -> Examined:
    op, (source,) = _node(scope, number, ops.Top)
    rows = scope.summed(source, role="rows")
    return Examined(delay, rows, _keys(scope, source, op.keys), TopRows(rows, op))


def _over(scope: _Signed, number: int, delay: int) -> Examined:
    op, (source,) = _node(scope, number, ops.Over)
    rows, names = scope.summed(source, role="rows"), scope.circuit.type_of(source).schema.names
    return Examined(delay, rows, _keys(scope, source, op.keys), Windows(rows, op, names))


def _flat_map(scope: _Signed, number: int, delay: int) -> Examined:
    op, (source,) = _node(scope, number, ops.FlatMap)
    rows = scope.summed(source, role="rows")
    return Examined(delay, rows, tuple(_columns(scope, source)), Expanded(rows, op))


def _node(scope: _Signed, number: int, kind: type[Any]) -> tuple[Any, tuple[int, ...]]:
    node = scope.circuit.nodes[number]
    assert isinstance(node.operator, kind)
    return node.operator, node.inputs


def _columns(scope: _Signed, number: int) -> range:
    return range(len(scope.circuit.type_of(number).schema))


def _keys(scope: _Signed, number: int, names: Sequence[str]) -> tuple[int, ...]:
    return tuple(map(scope.circuit.type_of(number).schema.index, names))


EXAMINED: Mapping[type[ops.Operator], Examine] = {
    ops.Distinct: _distinct,
    ops.Aggregate: _aggregate,
    ops.Top: _top,
    ops.Over: _over,
    ops.FlatMap: _flat_map,
}
