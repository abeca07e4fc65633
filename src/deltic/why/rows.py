"""Evaluates nodes of a circuit for bound columns; only rows with these values are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
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
from deltic.engine.entries import Entries
from deltic.errors import UnsupportedError
from deltic.why.nodes import PASSED, calls_of, copied, is_recursive, mapping_of, predicate_of, restricted, unexplained
from deltic.why.relations import (
    NEVER,
    Bound,
    DefinedView,
    Histories,
    RecursiveRelation,
    Relation,
    RelationScope,
    Row,
    RowHistory,
    Rows,
    SourceTable,
    VersionReader,
    agreeing,
    entries_of,
    histories_of,
    identity,
    keys_of,
    named,
    read_history,
    same,
)
from deltic.why.runs import run_of
from deltic.why.words import words_of

_Binding = tuple[dict[str, Any], int]
"""Values by column, and the weight of the rows that have them."""

_MANY = 64
"""The bindings of the first chunk; from this number on, columns of the next input are looked up for all at once."""

_MOST_ENGINES = 64
"""The most operators whose engines are cached."""

_ONE_AT_A_TIME = Lock()
"""Held while an engine that all searches share is used."""

_FEW = 100
"""History entries that are few: their rows are remembered, and no other input of a join is tried for fewer."""


class Evaluator:
    """Evaluates nodes, with a reader of tables and views."""

    def __init__(self, reader: VersionReader) -> None:
        self.reader = reader
        self._entries: dict[Hashable, Entries] = {}
        self._rows: dict[Hashable, Rows] = {}
        self._known: dict[Hashable, Rows] = defaultdict(dict)
        self._histories: dict[Hashable, Histories] = defaultdict(dict)
        self._given: Mapping[Hashable, Rows] | None = None
        self.leaf, self.is_recursive = cache(self._leaf), cache(is_recursive)
        self.words: Callable[[RelationScope], Words] = cache(lambda scope: words_of(scope.definition))
        self.mapping, self.condition, self.calls = cache(mapping_of), cache(predicate_of), cache(calls_of)
        self._copied, self._relation_below = cache(copied), cache(self._relation_found)

    def over(self, given: Mapping[Hashable, Rows]) -> Evaluator:
        """Return an evaluator for relations with the given rows only, by `identity`."""
        other = copy(self)
        other._rows, other._given = {}, given
        return other

    def _leaf(self, scope: RelationScope, number: int) -> Relation | tuple[RelationScope, int] | None:
        """Return the relation or node of another circuit that a leaf reads; None for other operators."""
        operator = scope.circuit.nodes[number].operator
        if isinstance(operator, ops.Source):
            return self._source(scope, operator)
        if isinstance(operator, ops.Delay):
            return scope.before, scope.circuit.nodes[number].inputs[0]
        if isinstance(operator, ops.Import) and scope.recursion is not None:
            outer = scope.recursion.outer
            return outer, outer.circuit.nodes[scope.recursion.number].inputs[operator.index]
        if isinstance(operator, ops.Feedback) and scope.recursion is not None:
            return RecursiveRelation(scope.recursion, operator.name, operator.schema, scope.at)
        if isinstance(operator, ops.BundleRelation):
            (below,) = scope.circuit.nodes[number].inputs
            if isinstance(scope.circuit.nodes[below].operator, ops.Fixpoint):
                schema = scope.circuit.type_of(number).schema
                return RecursiveRelation(scope.recursion_of(below), operator.name, schema, None)
        return None

    def _source(self, scope: RelationScope, source: ops.Source) -> Relation | tuple[RelationScope, int]:
        name = source.name
        if name not in self.reader.catalog.views or name in scope.definition.names:
            return SourceTable(name, source.schema, scope.back)
        if self.reader.is_shown(name):
            return DefinedView(name, source.schema, scope.back)
        hidden = self.reader.scope(name, scope.back)
        return hidden, hidden.circuit.sinks[name]

    def rows_of(self, relation: Relation, bound: Bound) -> Rows:
        """Return the rows of a relation with these values."""
        if isinstance(relation, DefinedView) and not self.reader.is_shown(relation.name):
            scope = self.reader.scope(relation.name, relation.back)
            return self.rows(scope, scope.circuit.sinks[relation.name], bound)
        if not isinstance(relation, RecursiveRelation):
            return self.reader.rows(relation, bound)
        if relation.at is None and self.reader.is_the_view(relation):
            return self.reader.rows(DefinedView(relation.name, relation.schema, relation.recursion.outer.back), bound)
        entries = self.entries(relation, bound)
        if len(entries) > _FEW:
            there = summed((row, change) for row, _, change in entries.until(relation.at))
            return agreeing(there, relation.schema, bound)
        histories = histories_of(entries, relation, bound)
        self._histories[relation.recursion, relation.name].update(histories)
        weights = {row: history.weight(relation.at) for row, history in histories.items()}
        return {row: weight for row, weight in weights.items() if weight}

    def entries(self, relation: RecursiveRelation, bound: Bound) -> Entries:
        """Return the history entries of rows with these values, and maybe others; runs the recursion if not stored."""
        asked = relation.recursion, relation.name, tuple(bound.items())
        if asked not in self._entries:
            self._entries[asked] = self._looked_up(relation, [bound])
        return self._entries[asked]

    def histories(self, relation: RecursiveRelation, bound: Bound) -> Histories:
        """Return the histories of the rows with these values."""
        return histories_of(self.entries(relation, bound), relation, bound)

    def history(self, relation: RecursiveRelation, row: Row) -> RowHistory:
        """Return the history of a row; without changes if it is never present."""
        known = self._histories[relation.recursion, relation.name]
        if row not in known:
            known[row] = self.histories(relation, named(row, relation.schema)).get(row, NEVER)
        return known[row]

    def in_the_end(self, relation: Relation, row: Row) -> bool:
        """Return whether a present row is also present at the end of the recursion."""
        if not isinstance(relation, RecursiveRelation) or relation.at is None or relation.recursion.is_monotone:
            return True
        return self.history(relation, row).weight(None) > 0

    def until(self, relation: RecursiveRelation, row: Row) -> int | None:
        """Return the last iteration at which a row is present that is absent at the end; None for other rows."""
        return None if self.in_the_end(relation, row) else self.history(relation, row).span(relation.at)[1]

    def end_of(self, scope: RelationScope) -> RelationScope:
        """Return the same body, reading the rows of the end; the scope itself if rows are never deleted."""
        recursion = scope.recursion
        return scope if recursion is None or scope.at is None or recursion.is_monotone else recursion.after(None)

    def absent_until(self, relation: Relation, bound: Bound) -> int | None:
        """Return the last iteration without a row of these values, if one has them at the end; else None."""
        if not isinstance(relation, RecursiveRelation) or relation.at is None:
            return None
        if not self.rows_of(replace(relation, at=None), bound):
            return None
        comes = [history.comes(relation.at) for history in self.histories(relation, bound).values()]
        return min((iteration - 1 for iteration in comes if iteration is not None), default=None)

    def _looked_up(self, relation: RecursiveRelation, bounds: Sequence[Bound]) -> Entries:
        """Return the history entries of the rows with one of these sets of values, and maybe others."""
        kept = read_history(self.reader, relation, bounds)
        if kept is None:
            kept = entries_of(run_of(relation.recursion, self), relation, bounds)
            assert kept is not None
        return kept

    def rows(self, scope: RelationScope, number: int, bound: Bound) -> Rows:
        """Return the rows of a node with these values, with their weights; cached, because a search repeats them."""
        asked = scope, number, tuple(bound.items())
        if asked not in self._rows:
            self._rows[asked] = self._computed(scope, number, bound)
        return self._rows[asked]

    def _computed(self, scope: RelationScope, number: int, bound: Bound) -> Rows:
        leaf = self.leaf(scope, number)
        if isinstance(leaf, tuple):
            return self.rows(*leaf, bound)
        if leaf is not None:
            return self.read(leaf, bound)
        operator = scope.circuit.nodes[number].operator
        if type(operator) not in _ROWS:
            raise unexplained(operator)
        return agreeing(_ROWS[type(operator)](self, scope, number, bound), scope.circuit.type_of(number).schema, bound)

    def read(self, relation: Relation, bound: Bound) -> Rows:
        """Return the rows of a relation with these values; a single row that was read is not looked up again."""
        if self._given is not None:
            return agreeing(self._given.get(identity(relation), {}), relation.schema, bound)
        if len(bound) == len(relation.schema):
            row = tuple([bound[name] for name in relation.schema.names])
            weight = self._weight(relation, row)
            return {row: weight} if weight else {}
        rows = self.rows_of(relation, bound)
        if not isinstance(relation, RecursiveRelation):
            self._known[identity(relation)].update(rows)
        return rows

    def _weight(self, relation: Relation, row: Row) -> int:
        """Return the weight of a row; 0 if it is absent."""
        if isinstance(relation, RecursiveRelation):
            return self.history(relation, row).weight(relation.at)
        known = self._known[identity(relation)]
        if row not in known:
            known[row] = self.rows_of(relation, named(row, relation.schema)).get(row, 0)
        return known[row]

    def _weights(self, relation: Relation, rows: list[Row]) -> list[int]:
        """Return the weights of rows; those of a table or a recursive relation are looked up at once."""
        if isinstance(relation, RecursiveRelation):
            histories = self._histories[relation.recursion, relation.name]
            if unknown := [named(row, relation.schema) for row in rows if row not in histories]:
                found = histories_of(self._looked_up(relation, unknown), relation, {})
                histories.update((row, found.get(row, NEVER)) for row in rows if row not in histories)
        elif isinstance(relation, SourceTable):
            known = self._known[identity(relation)]
            if unknown := [named(row, relation.schema) for row in rows if row not in known]:
                there = self.reader.rows_with_one_of(relation, unknown)
                known.update((row, there.get(row, 0)) for row in rows if row not in known)
        return [self._weight(relation, row) for row in rows]

    def look_up(self, scope: RelationScope, number: int, rows: Sequence[Row]) -> None:
        """Look up several rows of a node at once and remember them, if they are rows of a table with other columns."""
        relation, names = self._relation_below(scope, number) or (None, {})
        own = {column: name for name, column in names.items()}
        if isinstance(relation, SourceTable) and len(own) == len(relation.schema):
            schema = scope.circuit.type_of(number).schema
            places = [schema.index(own[column]) for column in relation.schema.names]
            self._weights(relation, [tuple([row[i] for i in places]) for row in rows])

    def below(self, scope: RelationScope, number: int, bound: Bound, index: int = 0) -> Rows:
        """Return the rows of an input of a node with these values."""
        return self.rows(scope, scope.circuit.nodes[number].inputs[index], bound)

    def evaluated(self, operator: ops.Operator, rows: Rows, type_: ZSetType) -> Rows:
        """Return the result of an operator for these rows, by an epoch of an engine that is rolled back."""
        batch = TableBatch(to_arrow(ZSet(rows), type_.schema))
        with _ONE_AT_A_TIME, _engine_of(operator, type_).prepare({"input": batch}, "trust") as epoch:
            return dict(from_arrow(epoch.version.read("output", counted=True)))

    def begin_of(self, scope: RelationScope, number: int) -> Any:
        """Return the first timestamp that a window includes, from the rows of its clock; None if it has none."""
        operator, (_, clock) = scope.circuit.nodes[number].operator, scope.circuit.nodes[number].inputs
        assert isinstance(operator, ops.Window)
        times = [time for (time,) in self.rows(scope, clock, {}) if time is not None]
        return operator.begin(max(times)) if times else None

    def is_recent(self, scope: RelationScope, number: int, row: Row) -> bool:
        """Return whether a row is in a window."""
        operator, begin = scope.circuit.nodes[number].operator, self.begin_of(scope, number)
        assert isinstance(operator, ops.Window)
        time = named(row, scope.circuit.type_of(number).schema)[operator.column]
        return time is not None and (begin is None or time >= begin)

    def passed(self, scope: RelationScope, number: int, bound: Bound) -> dict[str, Any] | None:
        """Return the bound values in terms of a map's input columns that it copies; None if two contradict."""
        result: dict[str, Any] = {}
        for name, origin in self._copied(scope.circuit, number):
            if name in bound and not same(result.setdefault(origin, bound[name]), bound[name]):
                return None
        return result

    def stream(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[Row]:
        """Yield the rows of a node with these values, lazily: joins are evaluated only as far as rows are consumed."""
        node, schema = scope.circuit.nodes[number], scope.circuit.type_of(number).schema
        if isinstance(node.operator, ops.Join | ops.Semijoin):
            yield from (row for row, weight in self.joined(scope, number, bound) if weight > 0)
        elif isinstance(node.operator, ops.Filter):
            restrictions = restricted(node.operator, schema, bound)
            rows = self.stream(scope, node.inputs[0], restrictions)
            yield from filter(self.condition(scope.circuit, number), rows)
        else:
            yield from (row for row, weight in self.rows(scope, number, bound).items() if weight > 0)

    def grouped(self, scope: RelationScope, number: int, bound: Bound) -> dict[str, Any]:
        """Return the bound values of an operator's grouping columns, which its input has, too."""
        operator, (below,) = scope.circuit.nodes[number].operator, scope.circuit.nodes[number].inputs
        keys = scope.circuit.type_of(below).schema.names if isinstance(operator, ops.FlatMap) else operator.keys  # type: ignore[attr-defined]
        return {name: value for name, value in bound.items() if name in keys}

    def joined(self, scope: RelationScope, number: int, bound: Bound) -> Iterator[tuple[Row, int]]:
        """Yield the rows of a join with these values, lazily, each with its weight."""
        node, schema = scope.circuit.nodes[number], scope.circuit.type_of(number).schema
        for values, weight in self._matches(scope, list(node.inputs), dict(bound), 1):
            yield tuple(values[name] for name in schema.names), weight

    def _matches(
        self, scope: RelationScope, inputs: list[int], values: dict[str, Any], weight: int
    ) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the values of the joined rows, starting with the input with the fewest free columns."""
        if not inputs:
            yield values, weight
            return
        first = self._fewest(scope, inputs, values)
        others = inputs.copy()
        others.remove(first)
        schema = scope.circuit.type_of(first).schema
        rows = self.rows(scope, first, {n: values[n] for n in schema.names if n in values}).items()
        bindings = (({**values, **named(row, schema)}, weight * w) for row, w in rows)
        for chunk in _growing(bindings):
            for more, both in self._promising(scope, others, chunk):
                yield from self._matches(scope, others, more, both)

    def _promising(self, scope: RelationScope, inputs: list[int], bindings: list[_Binding]) -> list[_Binding]:
        """Return the bindings for which the next input may have a row, by one look-up if that input is a relation.

        If they bind whole rows of it, the rows found are remembered.
        """
        if not inputs or len(bindings) == 1 or self._given is not None:
            return bindings
        following = min(inputs, key=lambda i: self.freedom(scope, i, bindings[0][0]))
        if (below := self._relation_below(scope, following)) is None:
            return bindings
        relation, names = below[0], {c: n for n, c in below[1].items() if n in bindings[0][0]}
        if len(names) == len(relation.schema):
            columns = [names[column] for column in relation.schema.names]
            rows = [tuple([values[name] for name in columns]) for values, _ in bindings]
            weights = self._weights(relation, rows)
            return [binding for binding, weight in zip(bindings, weights, strict=True) if weight]
        if len(bindings) < _MANY:
            return bindings
        bounds = [{column: values[name] for column, name in names.items()} for values, _ in bindings]
        columns = [*keys_of(bounds, relation.schema)] if names else []
        if not columns or (there := self._with_one_of(relation, bounds)) is None:
            return bindings
        places = [relation.schema.index(column) for column in columns]
        known = {tuple([row[i] for i in places]) for row in there}
        keys = (tuple([bound[column] for column in columns]) for bound in bounds)
        return [binding for binding, key in zip(bindings, keys, strict=True) if key in known]

    def _relation_found(self, scope: RelationScope, number: int) -> tuple[Relation, dict[str, str]] | None:
        """Return the relation whose rows a node has, and its columns by those of the node; None for other nodes."""
        names = {name: name for name in scope.circuit.type_of(number).schema.names}
        while (leaf := self.leaf(scope, number)) is None or isinstance(leaf, tuple):
            if leaf is not None:
                scope, number = leaf
                continue
            node = scope.circuit.nodes[number]
            if isinstance(node.operator, ops.Map):
                passed = dict(self._copied(scope.circuit, number))
                names = {name: passed[column] for name, column in names.items() if column in passed}
            elif not isinstance(node.operator, PASSED):
                return None
            (number,) = node.inputs
        return leaf, names

    def _with_one_of(self, relation: Relation, bounds: list[dict[str, Any]]) -> Iterable[Row] | None:
        """Return the rows with one of these values, and maybe others; None if they must be looked up one by one."""
        if isinstance(relation, RecursiveRelation):
            entries = read_history(self.reader, relation, bounds)
            return None if entries is None else (row for row, _, _ in entries)
        return self.reader.rows_with_one_of(relation, bounds) if isinstance(relation, SourceTable) else None

    def _fewest(self, scope: RelationScope, inputs: Sequence[int], values: Bound) -> int:
        """Return the input with the fewest free columns; of several recursions, one with few rows, or the fewest."""
        freedom = {i: self.freedom(scope, i, values) for i in inputs}
        least = min(freedom.values())
        first = [i for i, each in freedom.items() if each == least]
        if len(first) == 1 or not least[-1]:
            return first[0]
        sizes: dict[int, int] = {}
        for i in first:
            sizes[i] = self._size(scope, i, values)
            if sizes[i] <= _FEW:
                return i
        return min(first, key=lambda i: sizes[i])

    def _size(self, scope: RelationScope, number: int, values: Bound) -> int:
        """Return the number of history entries of a recursive relation with these values; 0 for other nodes."""
        relation, names = self._relation_below(scope, number) or (None, {})
        if not isinstance(relation, RecursiveRelation):
            return 0
        bound = {column: values[name] for name, column in names.items() if name in values}
        return len(self.entries(relation, bound))

    def freedom(self, scope: RelationScope, number: int, values: Bound) -> tuple[bool, bool, int]:
        """Return a sort key for inputs by expected rows: unbound ones and recursive ones last, then by free columns."""
        names = scope.circuit.type_of(number).schema.names
        free = sum(name not in values for name in names)
        return free == len(names) > 0, free > 0 and self.is_recursive(scope.circuit, number), free


_RowsOf = Callable[[Evaluator, RelationScope, int, Bound], Rows]


def _constant(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    operator = scope.circuit.nodes[number].operator
    assert isinstance(operator, ops.Constant)
    return dict(ZSet.of(operator.rows))


def _filter(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    operator, schema = scope.circuit.nodes[number].operator, scope.circuit.type_of(number).schema
    assert isinstance(operator, ops.Filter)
    rows = of.below(scope, number, restricted(operator, schema, bound))
    passes = of.condition(scope.circuit, number)
    return {row: weight for row, weight in rows.items() if passes(row)}


def _plus(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    return summed(pair for i in scope.circuit.nodes[number].inputs for pair in of.rows(scope, i, bound).items())


def _map(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    passed = of.passed(scope, number, bound)
    origins = {} if passed is None else of.below(scope, number, passed)
    compute = of.mapping(scope.circuit, number)
    pairs = ((compute(row), weight) for row, weight in origins.items())
    return summed((row, weight) for row, weight in pairs if row is not None)


def _antijoin(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    left, right = (scope.circuit.type_of(i).schema for i in scope.circuit.nodes[number].inputs)
    rows = of.below(scope, number, bound)
    keys = {row: {name: row[left.index(name)] for name in right.names} for row in rows}
    return {row: weight for row, weight in rows.items() if not of.below(scope, number, keys[row], 1)}


def _grouped(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    node = scope.circuit.nodes[number]
    rows = of.below(scope, number, of.grouped(scope, number, bound))
    return of.evaluated(node.operator, rows, scope.circuit.type_of(node.inputs[0]))


def _window(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    rows = of.below(scope, number, bound)
    return {row: weight for row, weight in rows.items() if of.is_recent(scope, number, row)}


def _differentiate(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    earlier = of.below(scope.before, number, bound)
    return summed(chain(of.below(scope, number, bound).items(), ((row, -weight) for row, weight in earlier.items())))


def _integrate(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    """Return the rows that all epochs add up to, read from the view that has them."""
    circuit = scope.circuit
    views = (name for name, shown in circuit.sinks.items() if shown == number)
    view = next(filter(of.reader.is_shown, views), None)
    if view is None:
        raise UnsupportedError(
            "why: total adds up past epochs, which are not kept; make the total a view of its own, or ask for rows of "
            "the views that it reads"
        )
    return of.reader.rows(DefinedView(view, circuit.type_of(number).schema, scope.back), bound)


def _custom(of: Evaluator, scope: RelationScope, number: int, bound: Bound) -> Rows:
    node = scope.circuit.nodes[number]
    assert isinstance(node.operator, ops.Apply)
    return dict(node.operator.custom.value([ZSet(of.rows(scope, i, {}).items()) for i in node.inputs]))


_ROWS: dict[type[ops.Operator], _RowsOf] = {
    ops.Constant: _constant,
    **dict.fromkeys(PASSED, Evaluator.below),
    ops.Distinct: lambda of, *place: {row: 1 for row, weight in of.below(*place).items() if weight > 0},
    ops.Negate: lambda of, *place: {row: -weight for row, weight in of.below(*place).items()},
    ops.Filter: _filter,
    ops.Plus: _plus,
    ops.Map: _map,
    **dict.fromkeys((ops.Join, ops.Semijoin), lambda of, *place: summed(of.joined(*place))),
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
