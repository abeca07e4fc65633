"""Evaluates nodes of a circuit for bound columns; only rows with these values are computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, lru_cache
from itertools import chain, islice
from threading import Lock
from typing import Any

from deltic.algebra.zset import ZSet, summed
from deltic.catalog.words import Words
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.tables import from_arrow, to_arrow
from deltic.engine.batches import TableBatch
from deltic.engine.engine import IncrementalEngine
from deltic.errors import UnsupportedError
from deltic.why.bound import Bound, Row, Rows, agreeing
from deltic.why.nodes import PASSED, calls_of, is_recursive, mapping_of, predicate_of, restricted, unexplained
from deltic.why.relation_rows import FEW, RelationRows
from deltic.why.relations import DefinedView, RecursiveRelation, VersionReader, keys_of
from deltic.why.scopes import RelationScope, ScopedNode
from deltic.why.words import words_of

_Binding = tuple[dict[str, Any], int]
"""Values by column, and the weight of the rows that have them."""

_MANY = 64
"""The bindings of the first chunk; from this number on, columns of the next input are looked up for all at once."""

_MOST_ENGINES = 64
"""The most operators whose engines are cached."""

_ONE_AT_A_TIME = Lock()
"""Held while an engine that all searches share is used."""


class Evaluator(RelationRows):
    """Evaluates nodes, with a reader of tables and views."""

    def __init__(self, reader: VersionReader) -> None:
        super().__init__(reader)
        self._rows: dict[Hashable, Rows] = {}
        self.words: Callable[[RelationScope], Words] = cache(lambda scope: words_of(scope.definition))
        self.is_recursive, self.calls = cache(is_recursive), cache(calls_of)
        self.mapping, self.condition = cache(mapping_of), cache(predicate_of)

    def over(self, given: Mapping[Hashable, Rows]) -> Evaluator:
        """Return an evaluator for relations with the given rows only, by `identity`."""
        other = copy(self)
        other._rows, other._given = {}, given
        return other

    def rows(self, node: ScopedNode, bound: Bound) -> Rows:
        """Return the rows of a node with these values, with their weights; cached, because a search repeats them."""
        asked = node, tuple(bound.items())
        if asked not in self._rows:
            self._rows[asked] = self._computed(node, bound)
        return self._rows[asked]

    def _computed(self, node: ScopedNode, bound: Bound) -> Rows:
        leaf = self.leaf(node)
        if isinstance(leaf, ScopedNode):
            return self.rows(leaf, bound)
        if leaf is not None:
            return self.read(leaf, bound)
        if type(node.operator) not in _ROWS:
            raise unexplained(node.operator)
        return agreeing(_ROWS[type(node.operator)](self, node, bound), node.schema, bound)

    def weight_of(self, node: ScopedNode, row: Row) -> int:
        """Return the weight of a row of a node; 0 if it is absent."""
        return self.rows(node, node.named(row)).get(row, 0)

    def evaluated(self, operator: ops.Operator, rows: Rows, type_: ZSetType) -> Rows:
        """Return the result of an operator for these rows, by an epoch of an engine that is rolled back."""
        batch = TableBatch(to_arrow(ZSet(rows), type_.schema))
        with _ONE_AT_A_TIME, _engine_of(operator, type_).prepare({"input": batch}, "trust") as epoch:
            return dict(from_arrow(epoch.version.read("output", counted=True)))

    def begin_of(self, node: ScopedNode) -> Any:
        """Return the first timestamp that a window includes, from the rows of its clock; None if it has none."""
        assert isinstance(node.operator, ops.Window)
        times = [time for (time,) in self.rows(node.inputs[1], {}) if time is not None]
        return node.operator.begin(max(times)) if times else None

    def is_recent(self, node: ScopedNode, row: Row) -> bool:
        """Return whether a row is in a window."""
        begin = self.begin_of(node)
        assert isinstance(node.operator, ops.Window)
        time = node.named(row)[node.operator.column]
        return time is not None and (begin is None or time >= begin)

    def stream(self, node: ScopedNode, bound: Bound) -> Iterator[Row]:
        """Yield the rows of a node with these values, lazily: joins are evaluated only as far as rows are consumed."""
        if isinstance(node.operator, ops.Join | ops.Semijoin):
            yield from (row for row, weight in self.joined(node, bound) if weight > 0)
        elif isinstance(node.operator, ops.Filter):
            rows = self.stream(node.below, restricted(node.operator, node.schema, bound))
            yield from filter(self.condition(*node.place), rows)
        else:
            yield from (row for row, weight in self.rows(node, bound).items() if weight > 0)

    def grouped(self, node: ScopedNode, bound: Bound) -> dict[str, Any]:
        """Return the bound values of an operator's grouping columns, which its input has, too."""
        operator = node.operator
        keys = node.below.schema.names if isinstance(operator, ops.FlatMap) else operator.keys  # type: ignore[attr-defined]
        return {name: value for name, value in bound.items() if name in keys}

    def joined(self, node: ScopedNode, bound: Bound) -> Iterator[tuple[Row, int]]:
        """Yield the rows of a join with these values, lazily, each with its weight."""
        for values, weight in self._matches(list(node.inputs), dict(bound), 1):
            yield node.row(values), weight

    def _matches(self, inputs: list[ScopedNode], values: dict[str, Any], weight: int) -> Iterator[_Binding]:
        """Yield the values of the joined rows, starting with the input with the fewest free columns."""
        if not inputs:
            yield values, weight
            return
        first = self._fewest(inputs, values)
        others = inputs.copy()
        others.remove(first)
        rows = self.rows(first, first.own(values)).items()
        bindings = (({**values, **first.named(row)}, weight * w) for row, w in rows)
        for chunk in _growing(bindings):
            for more, both in self._promising(others, chunk):
                yield from self._matches(others, more, both)

    def _promising(self, inputs: list[ScopedNode], bindings: list[_Binding]) -> list[_Binding]:
        """Return the bindings for which the next input may have a row, by one look-up if that input is a relation.

        If they bind whole rows of it, the rows found are remembered.
        """
        if not inputs or len(bindings) == 1 or self._given is not None:
            return bindings
        following = min(inputs, key=lambda each: self.freedom(each, bindings[0][0]))
        if (below := self.relation_of(following)) is None:
            return bindings
        relation, names = below[0], {c: n for n, c in below[1].items() if n in bindings[0][0]}
        if len(names) == len(relation.schema):
            columns = [names[column] for column in relation.schema.names]
            rows = [tuple([values[name] for name in columns]) for values, _ in bindings]
            weights = self.weights(relation, rows)
            return [binding for binding, weight in zip(bindings, weights, strict=True) if weight]
        if len(bindings) < _MANY:
            return bindings
        bounds = [{column: values[name] for column, name in names.items()} for values, _ in bindings]
        columns = [*keys_of(bounds, relation.schema)] if names else []
        if not columns or (there := self.with_one_of(relation, bounds)) is None:
            return bindings
        places = [relation.schema.index(column) for column in columns]
        known = {tuple([row[i] for i in places]) for row in there}
        keys = (tuple([bound[column] for column in columns]) for bound in bounds)
        return [binding for binding, key in zip(bindings, keys, strict=True) if key in known]

    def _fewest(self, inputs: Sequence[ScopedNode], values: Bound) -> ScopedNode:
        """Return the input with the fewest free columns; of several recursions, one with few rows, or the fewest."""
        freedom = {each: self.freedom(each, values) for each in inputs}
        least = min(freedom.values())
        first = [each for each, its in freedom.items() if its == least]
        if len(first) == 1 or not least[-1]:
            return first[0]
        sizes: dict[ScopedNode, int] = {}
        for each in first:
            sizes[each] = self._size(each, values)
            if sizes[each] <= FEW:
                return each
        return min(first, key=sizes.__getitem__)

    def _size(self, node: ScopedNode, values: Bound) -> int:
        """Return the number of history entries of a recursive relation with these values; 0 for other nodes."""
        relation, names = self.relation_of(node) or (None, {})
        if not isinstance(relation, RecursiveRelation):
            return 0
        bound = {column: values[name] for name, column in names.items() if name in values}
        return len(self.entries(relation, bound))

    def freedom(self, node: ScopedNode, values: Bound) -> tuple[bool, bool, int]:
        """Return a sort key for inputs by expected rows: unbound ones and recursive ones last, then by free columns."""
        names = node.schema.names
        free = sum(name not in values for name in names)
        return free == len(names) > 0, free > 0 and self.is_recursive(*node.place), free


_RowsOf = Callable[[Evaluator, ScopedNode, Bound], Rows]


def _constant(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    assert isinstance(node.operator, ops.Constant)
    return dict(ZSet.of(node.operator.rows))


def _passed(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    return of.rows(node.below, bound)


def _filter(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    assert isinstance(node.operator, ops.Filter)
    rows = of.rows(node.below, restricted(node.operator, node.schema, bound))
    passes = of.condition(*node.place)
    return {row: weight for row, weight in rows.items() if passes(row)}


def _plus(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    return summed(pair for each in node.inputs for pair in of.rows(each, bound).items())


def _map(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    passed = of.passed(node, bound)
    origins = {} if passed is None else of.rows(node.below, passed)
    compute = of.mapping(*node.place)
    pairs = ((compute(row), weight) for row, weight in origins.items())
    return summed((row, weight) for row, weight in pairs if row is not None)


def _antijoin(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    left, right = node.inputs
    rows = of.rows(left, bound)
    return {row: weight for row, weight in rows.items() if not of.rows(right, right.own(left.named(row)))}


def _grouped(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    return of.evaluated(node.operator, of.rows(node.below, of.grouped(node, bound)), node.below.type)


def _window(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    rows = of.rows(node.below, bound)
    return {row: weight for row, weight in rows.items() if of.is_recent(node, row)}


def _differentiate(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    earlier = of.rows(node.before.below, bound)
    return summed(chain(of.rows(node.below, bound).items(), ((row, -weight) for row, weight in earlier.items())))


def _integrate(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    """Return the rows that all epochs add up to, read from the view that has them."""
    views = (name for name, shown in node.scope.circuit.sinks.items() if shown == node.number)
    view = next(filter(of.reader.is_shown, views), None)
    if view is None:
        raise UnsupportedError(
            "why: total adds up past epochs, which are not kept; make the total a view of its own, or ask for rows of "
            "the views that it reads"
        )
    return of.reader.rows(DefinedView(view, node.schema, node.scope.back), bound)


def _custom(of: Evaluator, node: ScopedNode, bound: Bound) -> Rows:
    assert isinstance(node.operator, ops.Apply)
    return dict(node.operator.custom.value([ZSet(of.rows(each, {}).items()) for each in node.inputs]))


_ROWS: dict[type[ops.Operator], _RowsOf] = {
    ops.Constant: _constant,
    **dict.fromkeys(PASSED, _passed),
    ops.Distinct: lambda of, *asked: {row: 1 for row, weight in _passed(of, *asked).items() if weight > 0},
    ops.Negate: lambda of, *asked: {row: -weight for row, weight in _passed(of, *asked).items()},
    ops.Filter: _filter,
    ops.Plus: _plus,
    ops.Map: _map,
    **dict.fromkeys((ops.Join, ops.Semijoin), lambda of, *asked: summed(of.joined(*asked))),
    ops.Antijoin: _antijoin,
    **dict.fromkeys((ops.Aggregate, ops.Top, ops.Over, ops.FlatMap), _grouped),
    ops.Window: _window,
    ops.Differentiate: _differentiate,
    ops.Integrate: _integrate,
    **dict.fromkeys((ops.Apply, ops.Maintain), _custom),
}
"""The function for each operator that evaluates it with bound values."""


@lru_cache(_MOST_ENGINES)
def _engine_of(operator: ops.Operator, type_: ZSetType) -> IncrementalEngine:
    """An empty engine for an operator over rows of a type; compiled once for all searches."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("input", type_.schema, type_.is_set))
    builder.add(ops.Sink("output"), builder.add(operator, source))
    return IncrementalEngine(builder.build())


def _growing(bindings: Iterator[_Binding]) -> Iterator[list[_Binding]]:
    """Chunks, each four times as long as the previous: the first ones may be enough."""
    size = _MANY
    while chunk := [*islice(bindings, size)]:
        yield chunk
        size *= 4
