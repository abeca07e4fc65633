"""Views that are declared before they are defined, so that they may read themselves and each other.

Such views are sets, the least ones that satisfy their queries: a fixpoint, whose body has what depends on the views,
while the rest is outside and computed once. If the body only adds rows, all views are recursive relations. Otherwise
only the declared ones are; the others are *helpers*, computed from them in each iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from deltic.catalog import CatalogView, ViewDefinitions
from deltic.catalog.words import Words, of_all
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.circuit.polarity import grows_with
from deltic.sql.queries import ViewCircuit, view_circuit
from deltic.sql.queries.absence import check_absence
from deltic.sql.statements.statements import CreateView, DeclareView
from deltic.sql.types import written
from deltic.values.types import Column, Schema


def declared_view(declaration: DeclareView) -> ViewDefinitions:
    """Return a declared view that is not defined yet: it has no rows."""
    builder, name = CircuitBuilder(), declaration.name.name
    builder.add(ops.Sink(name), builder.add(ops.Constant(declaration.schema, ())))
    view = CatalogView(name, ZSetType(declaration.schema, True), text=declaration.text, place=declaration.place)
    return ViewDefinitions((view,), builder.build())


def recursive_views(
    views: Sequence[CreateView], declared: Mapping[str, Schema], known: Mapping[str, ZSetType]
) -> ViewDefinitions:
    """Return the definition of views that depend on each other; where one is not declared, it reads others that are.

    Raises ProgramError where a query has other columns than declared, or a view depends on its own absence.
    """
    types = {**known, **{name: ZSetType(schema, True) for name, schema in declared.items()}}
    circuits, words = dict[str, Circuit](), list[Words]()
    for view in views:
        name = view.name.name
        circuits[name], own, type_ = _lowered(view, types)
        if type_.collations:
            message = f"column {type_.collations[0][0]} of a recursive view has a collation"
            raise view.source.error(view.query, message, "write CAST(… AS STRING)")
        words.append(own)
        types.setdefault(name, ZSetType(_output(circuits[name]), True))
    body = _Body({view.name.name: (view, types[view.name.name].schema) for view in views}, circuits, {*circuits})
    if not grows_with(body.circuit):
        last = views[-1]
        body = _Body(body.views, circuits, {*declared}, counts=True)
        check_absence(body.circuit, lambda message, remedy: last.source.error(last.query, message, remedy))
    shown = tuple(_view(view, types[view.name.name]) for view in views)
    return ViewDefinitions(shown, body.whole(_policy(views)), of_all(words))


def _policy(views: Sequence[CreateView]) -> RefreshPolicy:
    """Return the refresh policy of views that are refreshed together."""
    named = [view for view in views if view.refresh]
    for view in named:
        if view.policy != named[0].policy:
            message = f"{named[0].name.name} and {view.name.name} are refreshed together, and have two refresh policies"
            raise view.source.error(view.name, message, "name it for one of them")
    return named[0].policy if named else ""


def _lowered(view: CreateView, types: Mapping[str, ZSetType]) -> ViewCircuit:
    name = view.name.name
    columns = [column.name for column in view.columns] or (types[name].schema.names if name in types else ())
    return view_circuit(view.query, types, name, view.source, columns, view.policy)


def _output(circuit: Circuit) -> Schema:
    (node,) = circuit.sinks.values()
    return circuit.type_of(node).schema


def _view(view: CreateView, type_: ZSetType) -> CatalogView:
    return CatalogView(view.name.name, type_, text=view.text, place=view.place)


class _Body:
    """The body of a fixpoint over those of some views that are `members`, and the circuit around it.

    What is imported is a set, unless the body `counts` how often a row is there.
    """

    def __init__(
        self,
        views: Mapping[str, tuple[CreateView, Schema]],
        circuits: Mapping[str, Circuit],
        members: Collection[str],
        counts: bool = False,
    ) -> None:
        self.views, self._circuits, self._counts = views, circuits, counts
        self._members = [name for name in views if name in members]
        self._helpers = [name for name in views if name not in members]
        self._outside, inside = CircuitBuilder(), CircuitBuilder(1)
        self._imported: list[int] = []
        there = {name: inside.add(ops.Feedback(name, views[name][1])) for name in self._members}
        for name in self._helpers:
            there[name] = self._add(name, inside, there)
        for name in self._members:
            inside.add(ops.Sink(name), self._add(name, inside, there))
        self.circuit = inside.build()

    def whole(self, refresh: RefreshPolicy) -> Circuit:
        """Return the circuit around the body, with a sink for each view."""
        fixpoint = self._outside.add(ops.Fixpoint(self.circuit, refresh), *self._imported)
        there = {name: self._outside.add(ops.BundleRelation(name), fixpoint) for name in self._members}
        for name in self._helpers:
            there[name] = self._add(name, self._outside, there)
        for name in self.views:
            self._outside.add(ops.Sink(name), there[name])
        return self._outside.build()

    def _add(self, name: str, place: CircuitBuilder, relations: Mapping[str, int]) -> int:
        """Add the query of a view, and return its rows; what depends on none of the `relations` goes outside."""
        circuit = self._circuits[name]
        outside: dict[int, int] = {}
        dependent: dict[int, int] = {}

        def within(number: int) -> int:
            if number in dependent:
                return dependent[number]
            return outside[number] if place is self._outside else self._imports(outside[number], place)

        for number, node in enumerate(circuit.nodes):
            operator = node.operator
            if isinstance(operator, ops.Source) and operator.name in relations:
                dependent[number] = relations[operator.name]
            elif isinstance(operator, ops.Sink):
                return self._end(name, _output(circuit), within(node.inputs[0]), place)
            elif dependent.keys().isdisjoint(node.inputs):
                outside[number] = self._outside.add(operator, *(outside[i] for i in node.inputs))
            else:
                dependent[number] = place.add(operator, *map(within, node.inputs))
        raise AssertionError(f"{name} has no rows")

    def _imports(self, number: int, inside: CircuitBuilder) -> int:
        """Return a node of the circuit around, in the body."""
        number = number if self._counts else self._outside.distinct(number)
        if number not in self._imported:
            self._imported.append(number)
        return inside.add(ops.Import(self._imported.index(number), self._outside.type_of(number)))

    def _end(self, name: str, found: Schema, node: int, place: CircuitBuilder) -> int:
        """Return the rows of a view: those of its query, each once, in the columns that it has."""
        view, wanted = self.views[name]
        for have, want in zip(found, wanted, strict=True):
            if have.type is not want.type or (have.nullable and not want.nullable):
                message = f"{name} was declared with {_column_text(want)}, and its query gives {_column_text(have)}"
                remedy = f"declare it so, or write CAST(… AS {written(want.type)})"
                raise view.source.error(view.query, message, "declare it so" if have.type is want.type else remedy)
        if found != wanted:
            node = place.add(ops.Map(wanted.columns, tuple(column(c.name) for c in found)), node)
        return place.distinct(node)


def _column_text(column: Column) -> str:
    return f"{column.name} {written(column.type)}{'' if column.nullable else ' NOT NULL'}"
