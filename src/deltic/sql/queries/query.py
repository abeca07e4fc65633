"""Queries: blocks, set operations, WITH, and the view that one defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from deltic.catalog.words import Words
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.depth import deep
from deltic.errors import count_of
from deltic.sql.queries.blocks import lower_block
from deltic.sql.queries.clock import as_selects, reads_clock
from deltic.sql.queries.froms import values_rows
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.ordering import limited
from deltic.sql.queries.recursion import lower_recursive
from deltic.sql.queries.rows import QueryRows
from deltic.sql.queries.scope import CatalogTables, QueryScope, reads
from deltic.sql.queries.sets import lower_operation
from deltic.sql.queries.unread import refuse_unread
from deltic.sql.scalars import Typed, settled
from deltic.sql.scalars.comparing import key
from deltic.sql.text import SourceText
from deltic.sql.types import collated
from deltic.values.types import Column


class ViewCircuit(NamedTuple):
    """The circuit of a view, the user's words for what it names itself, and the type of its rows in SQL."""

    circuit: Circuit
    words: Words
    type: ZSetType


class AnswerCircuit(NamedTuple):
    """The circuit of an answer, its columns' names as SQL has them, and a subquery's order, by their places."""

    circuit: Circuit
    words: Words
    type: ZSetType
    names: Sequence[str]
    order: Sequence[tuple[int, ops.Order]]


@deep
def view_circuit(
    query: exp.Expression,
    relations: Mapping[str, ZSetType],
    name: str,
    source: SourceText,
    columns: Sequence[str] = (),
    refresh: RefreshPolicy = "",
) -> ViewCircuit:
    """Return the circuit of a view: its sources are tables and views by name, its one sink is called `name`.

    `columns` are its columns where CREATE VIEW names them, `refresh` is the policy of its recursions. Raises
    ProgramError, with the place in `source`, for what is wrong or cannot be maintained.
    """
    nodes, rows = _lowered(query, relations, source, refresh)
    names = list(columns) or [a.name for a in rows.visible]
    _check_names(names, rows, query, source)
    values = {n: Typed(column(a.column.name), a.column.value_type) for n, a in zip(names, rows.visible, strict=True)}
    circuit = _circuit(name, nodes, rows, values)
    return ViewCircuit(circuit, nodes.words.built(source.text), _type(circuit, name, names, rows))


@deep
def stored_circuit(
    query: exp.Expression,
    relations: Mapping[str, ZSetType],
    name: str,
    source: SourceText,
    columns: Sequence[str],
    store: Callable[[Mapping[str, Typed]], Mapping[str, Typed]],
) -> Circuit:
    """As `view_circuit`; `store` makes the values of the sink of those that the query has for `columns`."""
    nodes, rows = _lowered(query, relations, source)
    _check_names(columns, rows, query, source)
    stored = store({n: a.typed for n, a in zip(columns, rows.visible, strict=True)})
    return _circuit(name, nodes, rows, {n: settled(value) for n, value in stored.items()})


@deep
def answer_circuit(
    query: exp.Expression,
    relations: Mapping[str, ZSetType],
    name: str,
    source: SourceText,
    ordered: Sequence[int] = (),
) -> AnswerCircuit:
    """As `view_circuit`, for a query whose columns may have one name.

    The texts at the places `ordered` have keys of their collations after the other columns.
    """
    nodes, rows = _lowered(query, relations, source)
    names = [a.name for a in rows.visible]
    first: dict[str, int] = {}
    own = [f"{n} ({i + 1})" if first.setdefault(n.lower(), i) < i else n for i, n in enumerate(names)]
    values = {n: Typed(column(a.column.name), a.column.value_type) for n, a in zip(own, rows.visible, strict=True)}
    values |= {f"order by {n} in its collation": key(rows.visible[n].typed) for n in ordered}
    places = {column: number for number, column in enumerate(rows.names)}
    order = [(places[by.column], by) for by in rows.order if by.column in places]
    circuit = _circuit(name, nodes, rows, values)
    return AnswerCircuit(circuit, nodes.words.built(source.text), _type(circuit, name, own, rows), list(names), order)


def _type(circuit: Circuit, name: str, names: Sequence[str], rows: QueryRows) -> ZSetType:
    """Return the type of the rows that are shown under these names, with the collations of texts."""
    result = circuit.type_of(circuit.sinks[name])
    assert isinstance(result, ZSetType)
    there = zip(names, rows.visible, strict=True)
    return replace(
        result, collations=tuple((n, collated(a.column.type, a.modifier)) for n, a in there if a.is_collated)
    )


def _lowered(
    query: exp.Expression, relations: Mapping[str, ZSetType], source: SourceText, refresh: RefreshPolicy = ""
) -> tuple[Nodes, QueryRows]:
    refuse_unread(query, source)
    nodes = Nodes()
    scope = QueryScope(nodes, source, CatalogTables(relations, nodes), lower_query, refresh=refresh)
    return nodes, scope.lower(query, scope)


def _circuit(name: str, nodes: Nodes, rows: QueryRows, values: Mapping[str, Typed]) -> Circuit:
    """Return the circuit with one sink, whose columns have these values."""
    shown = [Column(n, value.type.type, value.type.nullable) for n, value in values.items()]
    node = nodes.compute(rows.node, shown, [value.expression for value in values.values()])
    nodes.builder.add(ops.Sink(name), node)
    return nodes.builder.build().part(name)


def _check_names(names: Sequence[str], rows: QueryRows, query: exp.Expression, source: SourceText) -> None:
    if len(names) != len(rows.visible):
        message = f"{len(names)} columns are named, and the query has {len(rows.visible)}"
        raise source.error(query, message)
    first: dict[str, int] = {}
    twice = [n for i, n in enumerate(names) if first.setdefault(n.lower(), i) < i]
    if twice:
        raise source.error(query, f"two columns of the view are called {twice[0]}", "give one of them an alias with AS")


def lower_query(query: exp.Expression, scope: QueryScope) -> QueryRows:
    """Lower a query; rows of a correlated one also have the columns of its bindings."""
    scope = _with(query, scope)
    if isinstance(query, exp.Select):
        return lower_block(query, scope)
    if isinstance(query, exp.SetOperation):
        return limited(query, lower_operation(query, scope), scope)
    if isinstance(query, exp.Subquery):
        return limited(query, scope.lower(query.this, scope), scope)
    if isinstance(query, exp.Values) and reads_clock(query):
        return limited(query, scope.lower(as_selects(query), scope), scope)
    if isinstance(query, exp.Values):
        rows = values_rows(query, scope)
        return limited(query, rows.over(scope.nodes.join(scope.start, rows.node)), scope)
    if isinstance(query, exp.Table):
        return lower_block(exp.select("*").from_(query.copy()), scope)
    raise scope.refuse(query, type(query).__name__.upper())


def _with(query: exp.Expression, scope: QueryScope) -> QueryScope:
    """Add the definitions of WITH to the scope; each sees the earlier ones."""
    clause = query.args.get("with_")
    if clause is None:
        return scope
    for number, definition in enumerate(clause.expressions):
        alias = definition.args["alias"]
        names = [c.name for c in alias.args.get("columns") or ()]
        if any(other.alias.lower() == alias.name.lower() for other in clause.expressions[:number]):
            raise scope.source.error(alias, f"WITH defines {alias.name} twice", "give one of them another name")
        if clause.recursive and reads(definition.this, alias.name):
            rows = lower_recursive(definition, names, scope.bound(None))
        else:
            rows = scope.lower_derived(definition.this)
        if names and len(names) != len(rows.visible):
            message = f"{alias.name} names {count_of(len(names), 'column')}, and its query has {len(rows.visible)}"
            raise scope.source.error(definition, message)
        scope = scope.naming(alias.name, rows.called("", names))
    return scope
