"""Views that were declared before they are defined, so that they may read themselves and each other.

Such views are sets, the least ones that their queries allow: a fixpoint, whose body has what depends on them, while all
else stands outside of it and is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltic.catalog import Definition, View
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.circuit.types import Column, Schema, ZSetType
from deltic.sql.queries import view_circuit
from deltic.sql.queries.recursion import FALLING, is_monotone
from deltic.sql.statements.statements import CreateView, DeclareView
from deltic.sql.types import written


def declared_view(declaration: DeclareView) -> Definition:
    """A declared view that is not defined yet: it has no rows."""
    builder, name = CircuitBuilder(), declaration.name.name
    builder.add(ops.Sink(name), builder.add(ops.Constant(declaration.schema, ())))
    view = View(name, ZSetType(declaration.schema, True), text=declaration.text, place=declaration.place)
    return Definition((view,), builder.build())


def recursive_views(
    views: Sequence[CreateView], declared: Mapping[str, Schema], known: Mapping[str, ZSetType]
) -> Definition:
    """The definition of views that depend on each other; where one is not declared, it reads others that are.

    Raises ProgramError where a query has other columns than declared, or gives fewer rows for more of a view.
    """
    types = {**known, **{name: ZSetType(schema, True) for name, schema in declared.items()}}
    for view in views:
        if view.name.name not in declared:
            types[view.name.name] = ZSetType(_output(_lowered(view, types)), True)
    members = {view.name.name: types[view.name.name].schema for view in views}
    body = _Body(members)
    for view in views:
        body.add(view, _lowered(view, types))
    if not body.is_monotone:
        told = f"{', '.join(members)} {FALLING} in the recursion is not supported in a maintained view"
        raise views[-1].source.error(views[-1].query, told, "put that into a view that reads it")
    return Definition(tuple(_view(view, types[view.name.name]) for view in views), body.circuit(_policy(views)))


def _policy(views: Sequence[CreateView]) -> RefreshPolicy:
    """The refresh policy of views that are refreshed together."""
    named = [view for view in views if view.refresh]
    for view in named:
        if view.policy != named[0].policy:
            told = f"{named[0].name.name} and {view.name.name} are refreshed together, and have two refresh policies"
            raise view.source.error(view.name, told, "name it for one of them")
    return named[0].policy if named else ""


def _lowered(view: CreateView, types: Mapping[str, ZSetType]) -> Circuit:
    name = view.name.name
    columns = [column.name for column in view.columns] or (types[name].schema.names if name in types else ())
    return view_circuit(view.query, types, name, view.source, columns, view.policy)


def _output(circuit: Circuit) -> Schema:
    (node,) = circuit.sinks.values()
    return circuit.type_of(node).schema


def _view(view: CreateView, type_: ZSetType) -> View:
    return View(view.name.name, type_, text=view.text, place=view.place)


class _Body:
    """The body of a fixpoint over members, and the circuit around it."""

    def __init__(self, members: Mapping[str, Schema]) -> None:
        self._members = members
        self._outside, self._inside = CircuitBuilder(), CircuitBuilder(1)
        self._imported: list[int] = []

    def add(self, view: CreateView, circuit: Circuit) -> None:
        """Add the query of one member; what depends on no member goes outside."""
        outside: dict[int, int] = {}
        inside: dict[int, int] = {}

        def within(number: int) -> int:
            return inside[number] if number in inside else self._imports(outside[number])

        for number, node in enumerate(circuit.nodes):
            operator = node.operator
            if isinstance(operator, ops.Sink):
                self._end(view, _output(circuit), within(node.inputs[0]))
            elif isinstance(operator, ops.Source) and operator.name in self._members:
                inside[number] = self._inside.add(ops.Feedback(operator.name, operator.schema))
            elif inside.keys().isdisjoint(node.inputs):
                outside[number] = self._outside.add(operator, *(outside[i] for i in node.inputs))
            else:
                inside[number] = self._inside.add(operator, *map(within, node.inputs))

    @property
    def is_monotone(self) -> bool:
        """Whether the members have a least fixpoint, as more rows never mean fewer."""
        return is_monotone(self._inside.build())

    def circuit(self, refresh: RefreshPolicy) -> Circuit:
        """The whole: a sink for each member."""
        fixpoint = self._outside.add(ops.Fixpoint(self._inside.build(), refresh), *self._imported)
        for name in self._members:
            self._outside.add(ops.Sink(name), self._outside.add(ops.Component(name), fixpoint))
        return self._outside.build()

    def _imports(self, number: int) -> int:
        """A node of the circuit around, in the body; a row counts once there."""
        if not self._outside.type_of(number).is_set:
            number = self._outside.add(ops.Distinct(), number)
        if number not in self._imported:
            self._imported.append(number)
        return self._inside.add(ops.Import(self._imported.index(number), self._outside.type_of(number)))

    def _end(self, view: CreateView, found: Schema, node: int) -> None:
        """The rows of a member: those of its query, each once, in the columns that it has."""
        name, wanted = view.name.name, self._members[view.name.name]
        for have, want in zip(found, wanted, strict=True):
            if have.type is not want.type or (have.nullable and not want.nullable):
                told = f"{name} was declared with {_told(want)}, and its query gives {_told(have)}"
                remedy = f"declare it so, or write CAST(… AS {written(want.type)})"
                raise view.source.error(view.query, told, "declare it so" if have.type is want.type else remedy)
        if found != wanted:
            node = self._inside.add(ops.Map(wanted.columns, tuple(column(c.name) for c in found)), node)
        if not self._inside.type_of(node).is_set:
            node = self._inside.add(ops.Distinct(), node)
        self._inside.add(ops.Sink(name), node)


def _told(column: Column) -> str:
    return f"{column.name} {written(column.type)}{'' if column.nullable else ' NOT NULL'}"
