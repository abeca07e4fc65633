"""The rows of tables that rows of a view rest on, by one circuit: the view's, with a table's columns beside its own.

That works for operators whose rows come from given rows of their inputs: all but recursions, windows, and users' own.
For others, the leaves of explanations are the lineage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from deltic.catalog import ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.tables import from_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.values.types import Column, Schema
from deltic.why.bound import Bound, Row, named
from deltic.why.derivations import subtracts
from deltic.why.nodes import PASSED
from deltic.why.relations import DefinedView, RecursiveRelation, Relation, SourceTable
from deltic.why.scopes import RelationScope, ScopedNode
from deltic.why.search import ExplanationSearch

_Traced = dict[str, int]
"""For each table, the node with the rows of a node joined with the rows of the table that they rest on."""

_Parts = Sequence[tuple[str, int]]
"""Such nodes of tables, whose columns may differ."""

_NO_COLUMNS = Schema(())

Origin = tuple[Row, str, Row]
"""A row of a view, a table, and a row of it."""


def lineage(search: ExplanationSearch, name: str, bound: Bound) -> Iterator[Origin]:
    """Yield the rows of tables that the rows of a view with these values rest on."""
    try:
        tracing = _Tracing(search)
        tracing.finish(search.relation(name))
    except _NotTraced:
        for row in search.rows_with(name, bound):
            yield from ((row, table, leaf) for table, leaf in search.why(name, row).leaves())
        return
    width = len(search.relation(name).schema)
    for table, rows in tracing.evaluated(bound).items():
        yield from ((row[:width], table, row[width:]) for row in rows)


def possibly_needed(search: ExplanationSearch, name: str, bound: Bound) -> Iterator[Origin]:
    """Yield the rows of tables among which are all without which the rows of a view with these values would go."""
    schema = search.relation(name).schema
    for row in search.rows_with(name, bound):
        leaves = ((row, table, leaf) for table, leaf in search.why(name, row).leaves())
        yield from dict.fromkeys((*leaves, *lineage(search, name, named(row, schema))))


class _NotTraced(Exception):
    """An operator's rows do not come from given rows of its inputs."""


@dataclass
class _Tracing:
    """Builds the circuit whose sinks are the tables."""

    search: ExplanationSearch
    builder: CircuitBuilder = field(default_factory=CircuitBuilder)
    copies: dict[ScopedNode, int] = field(default_factory=dict)
    sources: dict[str, Relation] = field(default_factory=dict)
    """What the sources of the circuit read: tables, and views that are read as a whole."""

    def finish(self, relation: DefinedView | SourceTable) -> None:
        """Trace a view or a table down to tables."""
        for table, node in self.of_relation(relation).items():
            self.builder.add(ops.Sink(table), self.builder.add(ops.Distinct(), node))

    def evaluated(self, bound: Bound) -> dict[str, Sequence[Row]]:
        """Return the rows of the sinks with these values: by look-ups, or all of them by an engine."""
        circuit = self.builder.build()
        if bound:
            views = (v for v in self.search.catalog.views.values() if v.name in self._tables)
            scope, rows = RelationScope(circuit, ViewDefinitions((*views,), circuit)), self.search.evaluator.rows
            return {table: [*rows(scope.sink(table), bound)] for table in circuit.sinks}
        engine = IncrementalEngine(circuit)
        read = self.search.version.read
        engine.apply({name: read(name, table=name in self._tables, counted=True) for name in self.sources}, "trust")
        return {
            table: [row for row, _ in from_arrow(engine.version.read(table, counted=True))] for table in circuit.sinks
        }

    @property
    def _tables(self) -> set[str]:
        return {name for name, relation in self.sources.items() if isinstance(relation, SourceTable)}

    def read(self, relation: SourceTable | DefinedView, is_set: bool) -> int:
        """Return the source that reads a table, or a view as a whole."""
        if relation.back or self.sources.setdefault(relation.name, relation) != relation:
            raise _NotTraced
        return self.builder.add(ops.Source(relation.name, relation.schema, is_set))

    def copied(self, node: ScopedNode) -> int:
        """Return the same node in this circuit."""
        if node not in self.copies:
            self.copies[node] = self._copied(node)
        return self.copies[node]

    def _copied(self, node: ScopedNode) -> int:
        leaf = self.search.evaluator.leaf(node)
        if isinstance(leaf, ScopedNode) and not leaf.scope.back:
            return self.copied(leaf)
        if isinstance(leaf, RecursiveRelation) and self.search.evaluator.reader.is_the_view(leaf):
            leaf = DefinedView(leaf.name, leaf.schema)
        if isinstance(leaf, SourceTable | DefinedView):
            return self.read(leaf, node.type.is_set)
        if leaf is not None or not isinstance(node.operator, _COPIED):
            raise _NotTraced
        return self.builder.add(node.operator, *map(self.copied, node.inputs))

    def of_relation(self, relation: Relation) -> _Traced:
        """A table is traced to itself, a view by its definition."""
        if isinstance(relation, SourceTable):
            node = self.read(relation, not self.search.catalog.tables[relation.name].is_bag)
            copies = [replace(each, name=_name(i)) for i, each in enumerate(relation.schema)]
            own = [*map(column, relation.schema.names)]
            return {relation.name: self.builder.add(ops.Map((*relation.schema, *copies), (*own, *own)), node)}
        if isinstance(relation, RecursiveRelation) or relation.back:
            raise _NotTraced
        return self.of_node(self.search.evaluator.reader.scope(relation.name).sink(relation.name))

    def of_node(self, node: ScopedNode) -> _Traced:
        """Trace a node of a definition."""
        leaf, operator, inputs = self.search.evaluator.leaf(node), node.operator, node.inputs
        if isinstance(leaf, ScopedNode):
            return self.of_node(leaf)
        if leaf is not None:
            return self.of_relation(leaf)
        if isinstance(operator, ops.Constant | ops.Negate):
            return {}
        if isinstance(operator, PASSED):
            return self.of_node(node.below)
        if isinstance(operator, ops.Filter):
            return {t: self.builder.add(operator, each) for t, each in self.of_node(node.below).items()}
        if isinstance(operator, ops.Antijoin):
            return self._left(node, [*self.of_node(node.below).items(), *self.excluding(inputs[1])])
        if isinstance(operator, ops.Map):
            return {t: self._mapped(operator, t, each) for t, each in self.of_node(node.below).items()}
        if isinstance(operator, ops.Join | ops.Semijoin):
            return self._together([pair for each in inputs for pair in self._joined(node, each)])
        if isinstance(operator, ops.Plus):
            both = [pair for each in inputs for pair in self.of_node(each).items()]
            taken = [each.below for each in inputs if subtracts(each)]
            excluding = [pair for each in taken for pair in self.excluding(each)]
            return self._left(node, [*both, *excluding]) if taken else self._together(both)
        if isinstance(operator, ops.Aggregate | ops.Top | ops.FlatMap):
            keys = operator.keys if isinstance(operator, ops.Aggregate) else node.below.schema.names
            return self._left(node, [(t, self._only(keys, t, each)) for t, each in self.of_node(node.below).items()])
        raise _NotTraced

    def excluding(self, node: ScopedNode) -> _Parts:
        """Return the table rows without which a node had more rows, beside those of its columns that they have."""
        leaf, operator, inputs = self.search.evaluator.leaf(node), node.operator, node.inputs
        if isinstance(leaf, ScopedNode):
            return self.excluding(leaf)
        if isinstance(leaf, DefinedView):
            return self.excluding(self.search.evaluator.reader.scope(leaf.name, leaf.back).sink(leaf.name))
        if leaf is not None:
            return []
        if isinstance(operator, ops.Negate):
            return [*self.of_node(node.below).items()]
        others = inputs[:1] if isinstance(operator, ops.Antijoin) else inputs
        below = [pair for each in others for pair in self.excluding(each)]
        if isinstance(operator, ops.Map):
            return [(t, self._mapped(operator, t, each)) for t, each in below]
        if isinstance(operator, ops.Antijoin):
            left, matches = self.copied(node.below), self.of_node(inputs[1])
            return [*below, *((t, self.builder.add(ops.Join(), left, each)) for t, each in matches.items())]
        if isinstance(operator, ops.Aggregate | ops.Top | ops.Over):
            all_below = (*below, *self.of_node(node.below).items())
            return [(t, self._only(operator.keys, t, each)) for t, each in all_below]
        return below

    def _joined(self, join: ScopedNode, traced: ScopedNode) -> _Parts:
        """Return the traced rows of one input of a join, joined with the rows of the others."""
        rest = [self.copied(each) for each in join.inputs if each is not traced]
        joined = [(t, self.builder.add(ops.Join(), each, *rest)) for t, each in self.of_node(traced).items()]
        return [(t, self._only(join.schema.names, t, each, join.schema)) for t, each in joined]

    def _left(self, node: ScopedNode, traced: _Parts) -> _Traced:
        """Traced rows of those rows that a node has."""
        there = self.builder.add(ops.Distinct(), self.copied(node))
        joined = [(t, self.builder.add(ops.Join(), there, each)) for t, each in traced]
        return self._together([(t, self._only(node.schema.names, t, each, node.schema)) for t, each in joined])

    def _mapped(self, operator: ops.Map, table: str, below: int) -> int:
        """Return the columns that a map computes from those of a node, with the table's beside them."""
        beside, there = self._beside(table), {*self.builder.type_of(below).schema.names}
        pairs = zip(operator.columns, operator.expressions, strict=True)
        kept = [(column_, each) for column_, each in pairs if there.issuperset(columns_of(each))]
        kept += [(self._column(below, name), column(name)) for name in beside]
        columns, expressions = zip(*kept, strict=True)
        return self.builder.add(ops.Map.of_defined(columns, expressions, self.builder.type_of(below).schema), below)

    def _together(self, parts: _Parts) -> _Traced:
        result: _Traced = {}
        for table, node in parts:
            result[table] = self.builder.add(ops.Plus(), result[table], node) if table in result else node
        return result

    def _only(self, names: Sequence[str], table: str, node: int, schema: Schema = _NO_COLUMNS) -> int:
        """Return those of the columns that a node has, of the types in `schema`, with the table's beside them."""
        there = self.builder.type_of(node).schema.names
        kept = [name for name in (*names, *self._beside(table)) if name in there]
        columns = tuple(schema.column(name) if name in schema.names else self._column(node, name) for name in kept)
        return self.builder.add(ops.Map(columns, tuple(map(column, kept))), node)

    def _column(self, node: int, name: str) -> Column:
        return self.builder.type_of(node).schema.column(name)

    def _beside(self, table: str) -> list[str]:
        """Return the names of a table's columns beside those of a node."""
        return [_name(i) for i in range(len(self.search.catalog.tables[table].schema))]


_COPIED = (
    *PASSED,
    *(ops.Constant, ops.Filter, ops.Map, ops.Join, ops.Semijoin, ops.Antijoin, ops.Plus, ops.Negate),
    *(ops.Aggregate, ops.Top, ops.FlatMap, ops.Over),
)
"""Operators without state, which mean the same in another circuit."""


def _name(number: int) -> str:
    """Return the name of a column of a table beside those of a node."""
    return f"%{number}"
