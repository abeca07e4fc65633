"""The rows of relations with bound values: of tables, views and, by iteration, recursions; what was read is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from deltic.algebra.zset import summed
from deltic.circuit import operators as ops
from deltic.engine.version import Entries
from deltic.why.bound import Bound, Row, Rows, agreeing, named, same
from deltic.why.nodes import PASSED, copied
from deltic.why.relations import (
    NEVER,
    DefinedView,
    Histories,
    RecursiveRelation,
    Relation,
    RowHistory,
    SourceTable,
    VersionReader,
    entries_of,
    histories_of,
    identity,
    read_history,
)
from deltic.why.runs import run_of
from deltic.why.scopes import ScopedNode

FEW = 100
"""History entries that are few: their rows are remembered, and no other input of a join is tried for fewer."""


class RelationRows(ABC):
    """Reads relations by a reader of tables and views; `rows` are those of nodes that have no relation."""

    def __init__(self, reader: VersionReader) -> None:
        self.reader = reader
        self._entries: dict[Hashable, Entries] = {}
        self._known: dict[Hashable, Rows] = defaultdict(dict)
        self._histories: dict[Hashable, Histories] = defaultdict(dict)
        self._given: Mapping[Hashable, Rows] | None = None
        self.leaf, self.relation_of = cache(self._leaf), cache(self._relation_of)
        self._copied = cache(copied)

    @abstractmethod
    def rows(self, node: ScopedNode, bound: Bound) -> Rows:
        """Return the rows of a node with these values, with their weights."""

    def _leaf(self, node: ScopedNode) -> Relation | ScopedNode | None:
        """Return the relation or node of another scope that a leaf reads; None for other operators."""
        operator, scope = node.operator, node.scope
        if isinstance(operator, ops.Source):
            return self._source(node, operator)
        if isinstance(operator, ops.Delay):
            return node.below.before
        if isinstance(operator, ops.Import) and scope.recursion is not None:
            return scope.recursion.node.inputs[operator.index]
        if isinstance(operator, ops.Feedback) and scope.recursion is not None:
            return RecursiveRelation(scope.recursion, operator.name, operator.schema, scope.at)
        if isinstance(operator, ops.BundleRelation) and isinstance(node.below.operator, ops.Fixpoint):
            return RecursiveRelation(scope.recursion_of(node.below), operator.name, node.schema, None)
        return None

    def _source(self, node: ScopedNode, source: ops.Source) -> Relation | ScopedNode:
        name, scope = source.name, node.scope
        if name not in self.reader.catalog.views or name in scope.definition.names:
            return SourceTable(name, source.schema, scope.back)
        if self.reader.is_shown(name):
            return DefinedView(name, source.schema, scope.back)
        return self.reader.scope(name, scope.back).sink(name)

    def rows_of(self, relation: Relation, bound: Bound) -> Rows:
        """Return the rows of a relation with these values."""
        if isinstance(relation, DefinedView) and not self.reader.is_shown(relation.name):
            return self.rows(self.reader.scope(relation.name, relation.back).sink(relation.name), bound)
        if not isinstance(relation, RecursiveRelation):
            return self.reader.rows(relation, bound)
        if relation.at is None and self.reader.is_the_view(relation):
            return self.reader.rows(DefinedView(relation.name, relation.schema, relation.recursion.outer.back), bound)
        entries = self.entries(relation, bound)
        if len(entries) > FEW:
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

    def weights(self, relation: Relation, rows: list[Row]) -> list[int]:
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

    def look_up(self, node: ScopedNode, rows: Sequence[Row]) -> None:
        """Look up several rows of a node at once and remember them, if they are rows of a table with other columns."""
        relation, names = self.relation_of(node) or (None, {})
        own = {column: name for name, column in names.items()}
        if isinstance(relation, SourceTable) and len(own) == len(relation.schema):
            places = [node.schema.index(own[column]) for column in relation.schema.names]
            self.weights(relation, [tuple([row[i] for i in places]) for row in rows])

    def _relation_of(self, node: ScopedNode) -> tuple[Relation, dict[str, str]] | None:
        """Return the relation whose rows a node has, and its columns by those of the node; None for other nodes."""
        names = {name: name for name in node.schema.names}
        while (leaf := self.leaf(node)) is None or isinstance(leaf, ScopedNode):
            if leaf is not None:
                node = leaf
                continue
            if isinstance(node.operator, ops.Map):
                passed = dict(self._copied(*node.place))
                names = {name: passed[column] for name, column in names.items() if column in passed}
            elif not isinstance(node.operator, PASSED):
                return None
            node = node.below
        return leaf, names

    def passed(self, node: ScopedNode, bound: Bound) -> dict[str, Any] | None:
        """Return the bound values in terms of a map's input columns that it copies; None if two contradict."""
        result: dict[str, Any] = {}
        for name, origin in self._copied(*node.place):
            if name in bound and not same(result.setdefault(origin, bound[name]), bound[name]):
                return None
        return result

    def with_one_of(self, relation: Relation, bounds: list[dict[str, Any]]) -> Iterable[Row] | None:
        """Return the rows with one of these values, and maybe others; None if they must be looked up one by one."""
        if isinstance(relation, RecursiveRelation):
            entries = read_history(self.reader, relation, bounds)
            return None if entries is None else (row for row, _, _ in entries)
        return self.reader.rows_with_one_of(relation, bounds) if isinstance(relation, SourceTable) else None
