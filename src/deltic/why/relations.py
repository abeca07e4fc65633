"""The possible premises: tables, views and, inside a recursion, relations as of an iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deltic.catalog import Catalog, ViewDefinitions
from deltic.circuit import operators as ops
from deltic.engine.version import Entries, Version
from deltic.errors import DelticError, UnsupportedError
from deltic.values.types import Kind, Schema
from deltic.why.bound import Bound, Row, Rows, agreeing
from deltic.why.scopes import RecursionBody, RelationScope

Histories = dict[Row, "RowHistory"]
Earlier = Callable[[int], Version]
"""The version of an epoch by its number; raises DelticError where it is not retained."""

_LOOKED_UP = frozenset(
    {*(Kind.BOOLEAN, Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64), *(Kind.STRING, Kind.DATE, Kind.DECIMAL)}
)
"""The types of columns that are looked up by index; other columns are compared afterwards."""


@dataclass(frozen=True)
class SourceTable:
    """A table of the catalog, as of `back` epochs ago."""

    name: str
    schema: Schema
    back: int = 0


@dataclass(frozen=True)
class DefinedView:
    """A readable view of the catalog, as of `back` epochs ago."""

    name: str
    schema: Schema
    back: int = 0


@dataclass(frozen=True)
class RowHistory:
    """The history of a row in a recursion: the iterations at which its weight changes, in order, and by how much."""

    changes: Sequence[tuple[int, int]]

    def weight(self, at: int | None) -> int:
        """Its weight at an iteration, or at the end (None)."""
        weight = 0
        for iteration, change in self.changes:
            if at is None or iteration <= at:
                weight += change
        return weight

    def span(self, at: int | None) -> tuple[int, int | None]:
        """Return the first and last iteration of the interval of presence that contains `at`; None for the end."""
        weight, since = 0, 0
        for iteration, change in self.changes:
            was_there, weight = weight > 0, weight + change
            if at is not None and iteration > at and weight <= 0:
                return since, iteration - 1
            if not was_there and weight > 0 and (at is None or iteration <= at):
                since = iteration
        return since, None

    def comes(self, at: int) -> int | None:
        """Return the first iteration after `at` at which the row is present; it is absent at `at`."""
        return next((i for i, _ in self.changes if i > at and self.weight(i) > 0), None)


NEVER = RowHistory(())
"""The history of a row that is never present."""


@dataclass(frozen=True)
class RecursiveRelation:
    """A relation of a recursion at an iteration, or at its end (None)."""

    recursion: RecursionBody
    name: str
    schema: Schema
    at: int | None


Relation = SourceTable | DefinedView | RecursiveRelation


def identity(relation: Relation) -> tuple[object, ...]:
    """Return a key for a relation, without its columns."""
    if isinstance(relation, RecursiveRelation):
        return relation.recursion, relation.name, relation.at
    return type(relation), relation.name, relation.back


class VersionReader:
    """Reads rows of tables and views of one version, by values of bound columns."""

    def __init__(self, catalog: Catalog, version: Version, others: Sequence[ViewDefinitions], earlier: Earlier) -> None:
        """`others` are definitions in addition to the catalog's; `earlier` returns versions of earlier epochs."""
        self.catalog, self._versions, self._others, self._earlier = catalog, [version], others, earlier
        self._scopes: dict[str, RelationScope] = {}

    @cached_property
    def _definitions(self) -> Mapping[str, ViewDefinitions]:
        definitions = (*self.catalog.definitions, *self._others)
        return {name: definition for definition in definitions for name in definition.names}

    def relation(self, name: str) -> DefinedView | SourceTable:
        """Return the view of that name, or the table."""
        if name not in self._definitions:
            return SourceTable(name, self.catalog.tables[name].schema)
        views = {view.name: view for view in self._definitions[name].views}
        return DefinedView(name, views[name].schema)

    def version(self, back: int = 0) -> Version:
        """Return the version `back` epochs ago. Raises UnsupportedError if it can no longer be read."""
        while len(self._versions) <= back:
            epoch = self._versions[-1].epoch - 1
            try:
                self._versions.append(self._earlier(epoch))
            except DelticError as error:
                raise UnsupportedError(f"why: rows of epoch {epoch} are premises, but {error}") from None
        return self._versions[back]

    def scope(self, view: str, back: int = 0) -> RelationScope:
        """Return the circuit that defines a view, with calls inlined."""
        definition = self._definitions[view]
        first = definition.names[0]
        if first not in self._scopes:
            self._scopes[first] = RelationScope(definition.inlined, definition)
        scope = self._scopes[first]
        for _ in range(back):
            scope = scope.before
        return scope

    def is_shown(self, name: str) -> bool:
        """Return whether the view has readable rows; other views exist only inside their readers."""
        return name in self.catalog.view_schemas

    def rows(self, relation: SourceTable | DefinedView, bound: Bound) -> Rows:
        """Return the rows of a table or view with these values."""
        return agreeing(self.rows_with_one_of(relation, [bound]), relation.schema, _compared(bound, relation.schema))

    def rows_with_one_of(self, relation: SourceTable | DefinedView, bounds: Sequence[Bound]) -> Rows:
        """Return the rows of a table or view with one of these sets of values, and maybe others."""
        keys, is_table = keys_of(bounds, relation.schema), isinstance(relation, SourceTable)
        return self.version(relation.back).find(relation.name, keys, table=is_table)

    def is_the_view(self, relation: RecursiveRelation) -> bool:
        """Return whether the view of the relation's name is this relation itself, not a query over it."""
        scope, name = relation.recursion.outer, relation.name
        if scope.recursion is not None or name not in scope.definition.names or not self.is_shown(name):
            return False
        node = scope.sink(name)
        is_component = isinstance(node.operator, ops.BundleRelation) and node.operator.name == name
        return is_component and node.inputs == (relation.recursion.node,)


def read_history(reader: VersionReader, relation: RecursiveRelation, bounds: Sequence[Bound]) -> Entries | None:
    """Return the stored history entries of rows with one of these value sets, and maybe others; None if not stored."""
    if not reader.is_the_view(relation):
        return None
    return entries_of(reader.version(relation.recursion.outer.back), relation, bounds)


def entries_of(version: Version, relation: RecursiveRelation, bounds: Sequence[Bound]) -> Entries | None:
    """As `read_history`, of a version in which the relation is a view.

    A row that is deleted before the end has entries, too.
    """
    return version.history(relation.name, keys_of(bounds, relation.schema), relation.recursion.operator.body.sinks)


def keys_of(bounds: Sequence[Bound], schema: Schema) -> dict[str, list[Any]]:
    """Sets of values of the same columns, by column, without columns that are not looked up."""
    names = [name for name in bounds[0] if schema.types[name].kind in _LOOKED_UP]
    return {name: [bound[name] for bound in bounds] for name in names}


def histories_of(entries: Entries, relation: RecursiveRelation, bound: Bound) -> Histories:
    """Return the histories of the rows with these values."""
    changes: dict[Row, list[tuple[int, int]]] = defaultdict(list)
    for row, iteration, change in entries:
        changes[row].append((iteration, change))
    there = agreeing(changes, relation.schema, _compared(bound, relation.schema))
    return {row: RowHistory(each) for row, each in there.items()}


def _compared(bound: Bound, schema: Schema) -> Bound:
    """Return the values of columns that are not looked up."""
    return {name: value for name, value in bound.items() if schema.types[name].kind not in _LOOKED_UP}
