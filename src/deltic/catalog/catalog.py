"""The catalog: all definitions of a pipeline, checked against each other, and the circuit that they make.

A catalog is immutable: a change of definitions makes a new one, and its errors are found before anything else
changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deltic import html
from deltic.catalog.components import components
from deltic.catalog.definitions import CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.inlining import inline
from deltic.errors import CatalogError, did_you_mean
from deltic.values.types import Schema


@dataclass(frozen=True)
class Catalog:
    """The definitions of all front ends. Raises CatalogError where they conflict."""

    parts: tuple[FrontEndDefinitions, ...] = ()

    def __post_init__(self) -> None:
        self._check_names()
        self._check_sources()
        self._check_cycles()

    @cached_property
    def tables(self) -> Mapping[str, CatalogTable]:
        """The tables by name, in the order of their declarations."""
        return {table.name: table for part in self.parts for table in part.tables}

    @cached_property
    def shown_tables(self) -> Mapping[str, CatalogTable]:
        """The tables that users can read and change: all but hidden ones."""
        return {name: table for name, table in self.tables.items() if not table.is_hidden}

    @cached_property
    def views(self) -> Mapping[str, CatalogView]:
        """The views by name, including hidden ones."""
        return {view.name: view for part in self.parts for view in part.views}

    @cached_property
    def table_schemas(self) -> Mapping[str, Schema]:
        """The columns of the tables that can be read."""
        return {name: table.schema for name, table in self.shown_tables.items()}

    @cached_property
    def view_schemas(self) -> Mapping[str, Schema]:
        """The columns of the views that can be read: all but hidden ones."""
        return {name: view.schema for name, view in self.views.items() if not view.is_hidden}

    @cached_property
    def relations(self) -> Mapping[str, ZSetType]:
        """The edge type of each table and view; a view also has the rows of the table of the same name."""
        tables = {name: table.type for name, table in self.tables.items()}
        return {**tables, **{name: view.type for name, view in self.views.items()}}

    @cached_property
    def definitions(self) -> tuple[ViewDefinitions, ...]:
        """The definitions in dependency order."""
        by_name = self._by_name
        return tuple(by_name[names[0]] for names in components(self._graph))

    def front(self, name: str) -> str:
        """Return the front end that has defined a relation."""
        return next(part.front for part in self.parts if name in part.names)

    def readers(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the views that read any of these relations, directly or not, without those relations themselves."""
        reached = set(names)
        for definition in self.definitions:
            if not reached.isdisjoint(definition.reads):
                reached.update(definition.names)
        return tuple(name for name in self.views if name in reached and name not in names)

    def dependents(self, name: str) -> tuple[str, ...]:
        """Return the views that read a relation, directly or not, and those that are defined together with it."""
        definition = self._by_name.get(name)
        together = definition.names if definition else (name,)
        return (*(other for other in together if other != name), *self.readers(together))

    def check_unread(self, names: Collection[str]) -> None:
        """Raise CatalogError where a relation to be dropped is read by one that stays."""
        for definition in self.definitions:
            kept = [name for name in definition.names if name not in names]
            read = [name for name in definition.reads if name in names]
            if kept and read:
                raise CatalogError(
                    f"{read[0]} cannot be dropped: {_listed(kept)} read{'s' * (len(kept) == 1)} it; "
                    f"drop {_listed(kept)} with it, or replace {_listed(kept)} first"
                )

    @cached_property
    def circuit(self) -> Circuit:
        """The circuit of all definitions: a source for each table, a sink for each view that is not hidden.

        It leaves out what only unread hidden views need.
        """
        return inline(self.composed)

    def circuit_of(self, name: str) -> Circuit:
        """Return the part of `circuit` that a table or view needs, at the cost of that part."""
        return inline(self.composed.part(name)).part(name)

    @cached_property
    def composed(self) -> Circuit:
        """The same circuit with one call for each unit, so that the compiled form of an unchanged unit is used again.

        A unit is a definition together with those that share hidden views with it.
        """
        builder = CircuitBuilder()
        tables = {t.name: builder.add(ops.Source(t.name, t.schema, not t.is_bag, t.key)) for t in self.tables.values()}
        nodes = dict(tables)
        for unit in self._units():
            own = {name for definition in unit for name in definition.names}
            unit_call = unit[0].call if len(unit) == 1 else ops.Call(self._together(unit))
            sources = (port.name for port in unit_call.ports)
            call = builder.add(unit_call, *(tables[n] if n in own else nodes[n] for n in sources))
            shown = [name for name in unit_call.circuit.sinks if not self.views[name].is_hidden]
            nodes |= {name: builder.add(ops.BundleRelation(name), call) for name in shown}
            nodes |= {name: builder.add(ops.Keep(name), nodes[name]) for name in shown if name in self._lasting}
        for view in self.views.values():
            if not view.is_hidden:
                builder.add(ops.Sink(view.name), nodes[view.name])
        return builder.build()

    def _units(self) -> list[tuple[ViewDefinitions, ...]]:
        """Return the needed definitions, grouped where they share hidden views, in dependency order."""
        needed = self._needed()
        read = {first: list(names) for first, names in self._graph.items()}
        for definition in self._by_name.values():
            for name in definition.reads:
                if name in self.views and self.views[name].is_hidden:
                    read[self._by_name[name].names[0]].append(definition.names[0])
        units = (tuple(self._by_name[name] for name in names) for names in components(read))
        order = {definition.names[0]: number for number, definition in enumerate(self.definitions)}
        parts = (tuple(d for d in unit if not needed.isdisjoint(d.names)) for unit in units)
        return [tuple(sorted(part, key=lambda d: order[d.names[0]])) for part in parts if part]

    def _together(self, unit: Sequence[ViewDefinitions]) -> Circuit:
        """Return the circuit of several definitions in dependency order; its sinks are the shown views."""
        builder, nodes = CircuitBuilder(), dict[str, int]()
        for definition in unit:
            inputs = []
            for name in definition.sources:
                is_own = name in definition.names
                type_ = self.tables[name].type if is_own else self.relations[name]
                is_made = name in nodes and not is_own
                inputs.append(nodes[name] if is_made else builder.add(ops.Source(name, type_.schema, type_.is_set)))
            call = builder.add(ops.Call(definition.circuit), *inputs)
            nodes |= {name: builder.add(ops.BundleRelation(name), call) for name in definition.names}
        for name in nodes:
            if not self.views[name].is_hidden:
                builder.add(ops.Sink(name), nodes[name])
        return inline(builder.build())

    @cached_property
    def _lasting(self) -> frozenset[str]:
        """The views that keep rows which their tables may forget: other views must read them, not their inputs."""
        timed = [table.name for table in self.tables.values() if table.lateness is not None]
        return frozenset(name for name in self.readers(timed) if not self.views[name].is_hidden)

    @property
    def recursions(self) -> list[tuple[str, ...]]:
        """The recursive views, those that depend on each other together."""
        together = defaultdict[tuple[int, int], list[str]](list)
        for number, definition in enumerate(self.definitions):
            for name in definition.names:
                node = definition.circuit.nodes[definition.circuit.sinks[name]]
                if isinstance(node.operator, ops.BundleRelation):
                    together[number, node.inputs[0]].append(name)
        return [tuple(names) for names in together.values()]

    def check_free(self, name: str) -> None:
        """Raise CatalogError when there is a relation of that name."""
        if name in self.relations:
            front = next(front for known, front, _ in self._names() if known == name)
            raise _taken(name, front)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """Return the tables and views, for notebooks: columns, language, what they read."""
        tables = [(t.name, "table", _columns(t.schema), "", "") for t in self.tables.values()]
        views = [
            (
                view.name,
                "hidden view" if view.is_hidden else "view",
                _columns(view.type.schema),
                self.front(view.name),
                ", ".join(self._by_name[view.name].reads),
            )
            for view in self.views.values()
        ]
        return html.table(("name", "kind", "columns", "defined in", "reads"), [*tables, *views])

    def _lines(self) -> Iterator[str]:
        yield from map(str, self.tables.values())
        for view in self.views.values():
            definition = self._by_name[view.name]
            reads = f", reads {', '.join(definition.reads)}" if definition.reads else ""
            others = [name for name in definition.names if name != view.name]
            beside = f", defined together with {', '.join(others)}" if others else ""
            place = f" at {view.place}" if view.place else ""
            yield f"{view}, of {self.front(view.name)}{place}{reads}{beside}"

    def _needed(self) -> set[str]:
        """Return the views that users or needed definitions read."""
        needed = {view.name for view in self.views.values() if not view.is_hidden}
        for definition in reversed(self.definitions):
            if not needed.isdisjoint(definition.names):
                needed.update(definition.reads)
        return needed

    @cached_property
    def _by_name(self) -> Mapping[str, ViewDefinitions]:
        return {name: d for part in self.parts for d in part.definitions for name in d.names}

    @cached_property
    def _graph(self) -> dict[str, list[str]]:
        """The dependency graph: definitions are named by their first view."""
        first = {name: d.names[0] for name, d in self._by_name.items()}
        return {
            d.names[0]: [first[name] for name in d.reads if name in first]
            for part in self.parts
            for d in part.definitions
        }

    def _check_names(self) -> None:
        known: dict[str, str] = {}
        for name, what, combines in self._names():
            if known.setdefault(name, what) is not what and not combines:
                raise _taken(name, known[name])

    def _names(self) -> Iterator[tuple[str, str, bool]]:
        """Yield each name with its meaning, and whether it may have a second one."""
        for part in self.parts:
            for table in part.tables:
                yield table.name, _origin("table", part.front, table.place), False
            own = {table.name for table in part.tables}
            for definition in part.definitions:
                for view in definition.views:
                    is_union = view.name in own and view.name in definition.sources
                    yield view.name, _origin("view", part.front, view.place), is_union

    def _check_sources(self) -> None:
        for part in self.parts:
            for definition in part.definitions:
                for name, wanted in definition.sources.items():
                    self._check_source(definition.views[0], name, wanted, name in definition.names)

    def _check_source(self, view: CatalogView, name: str, wanted: ZSetType, is_own: bool) -> None:
        if is_own and name not in self.tables:
            raise CatalogError(
                f"view {view.name} reads itself; a recursion is one definition, a circuit with a fixpoint"
            )
        if name not in self.relations:
            hint = did_you_mean(name, self.relations) or "define it first"
            raise CatalogError(f"view {view.name} reads {name}, and there is no table or view of that name; {hint}")
        result = self.tables[name].type if is_own else self.relations[name]
        if result.schema != wanted.schema:
            raise CatalogError(f"view {view.name} reads {name} as {wanted.schema}, but its columns are {result.schema}")
        if wanted.is_set and not result.is_set:
            raise CatalogError(
                f"view {view.name} reads {name} as a set, but it is a bag: declare the source as a zset, "
                "and put a distinct after it where each row counts once"
            )

    def _check_cycles(self) -> None:
        for names in components(self._graph):
            if len(names) > 1:
                views = [name for first in names for name in self._by_name[first].names]
                message = ", ".join(f"{name} ({self.front(name)})" for name in views)
                raise CatalogError(
                    f"views of several definitions depend on each other: {message}; "
                    "a recursion is one definition, of one front end"
                )


def _taken(name: str, what: str) -> CatalogError:
    replacing = f"; a script that runs again asks first: if {name!r} not in pipeline"
    if what.startswith("a view"):
        replacing = "; pipeline.view replaces a view with replace=True"
    return CatalogError(f"{name} is already {what}; choose another name, or drop that one first{replacing}")


def _origin(kind: str, front: str, place: str) -> str:
    return f"a {kind} of {front}" + (f", declared at {place}" if place else "")


def _columns(schema: Schema) -> str:
    return ", ".join(map(str, schema))


def _listed(names: Collection[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


@dataclass(frozen=True)
class CatalogDifference:
    """The names of the tables and views that differ between two catalogs.

    `replaced` are those with another definition, `dependent` those whose own definition stays, but which read, maybe
    through others, what was replaced or dropped; they are among `kept` as well.
    """

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()

    @classmethod
    def between(cls, old: Catalog, new: Catalog) -> CatalogDifference:
        """Compare two catalogs."""
        before, after = _definitions(old), _definitions(new)
        replaced = tuple(name for name in after if name in before and before[name] != after[name])
        kept = tuple(name for name in after if name in before and before[name] == after[name])
        dependents = new.readers(replaced)
        return cls(
            tuple(name for name in after if name not in before),
            replaced,
            tuple(name for name in before if name not in after),
            kept,
            tuple(name for name in kept if name in dependents),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced or self.dropped)

    def __str__(self) -> str:
        parts = {"added": self.added, "replaced": self.replaced, "dropped": self.dropped, "kept": self.kept}
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts.items() if names) or "nothing changed"


def _definitions(catalog: Catalog) -> Mapping[str, tuple[CatalogTable | None, object]]:
    """Return the definition of each relation: its table, and that of its view."""
    derived = {name: (d.circuit, d.views) for d in catalog.definitions for name in d.names}
    hidden = {table.name for table in catalog.tables.values() if table.is_hidden}
    return {name: (catalog.tables.get(name), derived.get(name)) for name in catalog.relations if name not in hidden}
