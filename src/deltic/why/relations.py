"""What may be a premise: tables, views and, inside a recursion, relations as of an iteration."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deltic import values
from deltic.catalog import Catalog, ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.circuit.tables import from_arrow
from deltic.engine.batches import with_weights
from deltic.engine.version import ITERATION, Version
from deltic.values.types import Kind, Schema, Type

Row = tuple[Any, ...]
Bound = Mapping[str, Any]
Rows = dict[Row, int]
"""Rows with their weights, none of them zero."""

_LOOKED_UP = frozenset(
    {
        *(Kind.BOOLEAN, Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64),
        *(Kind.STRING, Kind.DATE, Kind.DECIMAL),
    }
)
"""The kinds of columns whose values are looked up; others are compared with the rows that these leave."""


@dataclass(frozen=True)
class SourceTable:
    """A table of the catalog."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class DefinedView:
    """A view of the catalog that can be read."""

    name: str
    schema: Schema


@dataclass(frozen=True, eq=False)
class RecursionBody:
    """A fixpoint of the definition of a view: node `number` of the circuit in `outer`."""

    outer: RelationScope
    number: int
    histories: dict[str, list[Rows]] = field(default_factory=dict)
    """Rows at each iteration, where the engine does not keep them with the view's rows; computed when needed."""

    @property
    def operator(self) -> ops.Fixpoint:
        """The fixpoint."""
        operator = self.outer.circuit.nodes[self.number].operator
        assert isinstance(operator, ops.Fixpoint)
        return operator


@dataclass(frozen=True)
class RecursiveRelation:
    """A relation of a recursion as of an iteration, or at its end (None)."""

    recursion: RecursionBody
    name: str
    schema: Schema
    at: int | None


Relation = SourceTable | DefinedView | RecursiveRelation


@dataclass(frozen=True, eq=False)
class RelationScope:
    """A circuit and what its leaves are: that of a definition, or the body of a recursion after an iteration."""

    circuit: Circuit
    definition: ViewDefinitions
    recursion: RecursionBody | None = None
    at: int | None = None
    """The iteration whose rows the body reads."""
    recursions: dict[int, RecursionBody] = field(default_factory=dict)

    def recursion_of(self, number: int) -> RecursionBody:
        """The recursion that the node is."""
        return self.recursions.setdefault(number, RecursionBody(self, number))


class VersionReader:
    """Rows of tables and views of one version, by values that columns are bound to."""

    def __init__(self, catalog: Catalog, version: Version, others: Sequence[ViewDefinitions] = ()) -> None:
        self.catalog, self.version, self._others = catalog, version, others
        self._scopes: dict[str, RelationScope] = {}
        self._rows: dict[Hashable, Rows] = {}
        self._iterations: dict[Hashable, dict[Row, int] | None] = {}

    @cached_property
    def _definitions(self) -> Mapping[str, ViewDefinitions]:
        definitions = (*self.catalog.definitions, *self._others)
        return {name: definition for definition in definitions for name in definition.names}

    def relation(self, name: str) -> DefinedView | SourceTable:
        """The view of that name, or the table."""
        if name not in self._definitions:
            return SourceTable(name, self.catalog.tables[name].schema)
        views = {view.name: view for view in self._definitions[name].views}
        return DefinedView(name, views[name].schema)

    def scope(self, view: str) -> RelationScope:
        """The circuit that defines a view, its calls put in their places."""
        definition = self._definitions[view]
        first = definition.names[0]
        if first not in self._scopes:
            self._scopes[first] = RelationScope(inline(definition.circuit), definition)
        return self._scopes[first]

    def is_shown(self, name: str) -> bool:
        """Whether the view has rows to be read; others are there within those that read them."""
        return name in self.catalog.view_schemas

    def rows(self, relation: SourceTable | DefinedView, bound: Bound) -> Rows:
        """The rows of a table or view with these values; a search asks for some of them several times."""
        asked = relation, tuple(bound.items())
        if asked not in self._rows:
            self._rows[asked] = self._looked_up(relation, bound)
        return self._rows[asked]

    def _looked_up(self, relation: SourceTable | DefinedView, bound: Bound) -> Rows:
        name, schema, is_table = relation.name, relation.schema, isinstance(relation, SourceTable)
        key = _key(bound, schema)
        if is_table and name in self.catalog.views and key:
            import pyarrow as pa

            columns = [values.to_arrow([bound[column]], schema.types[column]) for column in key]
            table = with_weights(self.version.lookup_all(name, pa.table(columns, names=list(key))), 1)
        elif key:
            table = self.version.lookup(name, key, counted=True)
        else:
            table = self.version.read(name, table=is_table, counted=True)
        return agreeing(dict(from_arrow(table)), schema, bound)

    def iterations(self, relation: RecursiveRelation, bound: Bound) -> dict[Row, int] | None:
        """The rows of a recursion's relation, as it is in the end, with their iterations; None where none are kept."""
        asked = relation.recursion, relation.name, tuple(bound.items())
        if asked not in self._iterations:
            self._iterations[asked] = self._read_iterations(relation, bound)
        return self._iterations[asked]

    def _read_iterations(self, relation: RecursiveRelation, bound: Bound) -> dict[Row, int] | None:
        if not self._is_the_view(relation):
            return None
        table = self.version.iterations(relation.name, _key(bound, relation.schema))
        if table is None:
            return None
        times = table.column(ITERATION).to_pylist()
        rows = dict(from_arrow(with_weights(table.drop_columns([ITERATION]), 1)))
        return agreeing(dict(zip(rows, times, strict=True)), relation.schema, bound)

    def _is_the_view(self, relation: RecursiveRelation) -> bool:
        """Whether the view of the relation's name is this relation, and no query over it."""
        scope, name = relation.recursion.outer, relation.name
        if scope.recursion is not None or name not in scope.definition.names or not self.is_shown(name):
            return False
        node = scope.circuit.nodes[scope.circuit.sinks[name]]
        is_component = isinstance(node.operator, ops.BundleRelation) and node.operator.name == name
        return is_component and node.inputs == (relation.recursion.number,)


def agreeing(rows: dict[Row, int], schema: Schema, bound: Bound) -> dict[Row, int]:
    """The rows that have these values."""
    wanted = [(schema.index(name), value) for name, value in bound.items()]
    return {row: number for row, number in rows.items() if all(same(row[i], value) for i, value in wanted)}


def same(a: Any, b: Any) -> bool:
    """Whether two values are one to a key: NULL equals NULL."""
    return a is b or a == b


def named(row: Row, schema: Schema) -> dict[str, Any]:
    """The values of a row by column."""
    return dict(zip(schema.names, row, strict=True))


def _key(bound: Bound, schema: Schema) -> dict[str, Any]:
    def is_looked_up(type_: Type) -> bool:
        return type_.kind in _LOOKED_UP

    return {n: values.to_python(v, schema.types[n]) for n, v in bound.items() if is_looked_up(schema.types[n])}
