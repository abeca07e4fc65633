"""INSERT, DELETE, UPDATE and MERGE as queries for the deleted and inserted rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from sqlglot import exp, parse_one

from deltic.catalog import CatalogTable, CatalogView, ViewDefinitions
from deltic.circuit.expressions import balanced
from deltic.circuit.graph import Circuit
from deltic.errors import count_of
from deltic.sql.dialect import Deltic
from deltic.sql.names import find_name, names_read
from deltic.sql.queries import answer_circuit, stored_circuit, view_circuit
from deltic.sql.queries.trees import conjuncts
from deltic.sql.scalars import NULL, Typed, typed
from deltic.sql.scalars.coercion import is_assignable, open_type
from deltic.sql.scalars.functions.texts import within_bound
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.parse_columns import default_value
from deltic.sql.statements.program import Types
from deltic.sql.statements.statements import Assignment, Change, Delete, Insert, Merge, MergeClause, OnConflict, Update
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values.types import Column, Kind, Type


def effect_of(change: Change, tables: Mapping[str, CatalogTable], relations: Types) -> Effect:
    """Return the effect of a statement; raises ProgramError where it does not fit the present tables and views."""
    views = [name for name in relations if name not in tables]
    if any(change.table.name.lower() == view.lower() for view in views):
        raise change.source.error(
            change.table, f"{change.table.name} is a view", "its rows follow from tables: change those"
        )
    table = tables[find_name(change.table, "table", tables, change.source)]
    by_name = not isinstance(change, Insert) or change.by_name
    writing = _Writing(change.source, table, relations, by_name)
    if isinstance(change, Insert):
        writing.insert(change)
    elif isinstance(change, Delete):
        writing.delete(change)
    elif isinstance(change, Update):
        writing.update(change)
    else:
        writing.merge(change)
    return writing.effect


_FieldValue = tuple[Sequence[exp.Identifier], exp.Expression]
"""The fields within a value on the way to a part of it, and what that part becomes."""


class _Writing:
    """The effect on one table, clause by clause; `by_name` wants the table's names of fields in structs."""

    def __init__(self, source: SourceText, table: CatalogTable, relations: Types, by_name: bool) -> None:
        self._source, self._table, self._relations, self._by_name = source, table, relations, by_name
        self._storing = {one.column: one for one in table.storing}
        self._definitions: list[ViewDefinitions] = []
        self._signs: dict[str, Literal[1, -1]] = {}
        self._replaced: set[str] = set()
        self._ambiguous = ""
        self._keys: ViewDefinitions | None = None
        self._keyed: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect:
        definitions, replaced = tuple(self._definitions), frozenset(self._replaced)
        return Effect(self._table, definitions, self._signs, replaced, self._ambiguous, self._keys, self._keyed)

    def insert(self, change: Insert) -> None:
        named = change.columns or (self._names_of(change.query) if change.by_name else ())
        columns = self._columns(named)
        change = replace(change, query=self._with_defaults(change.query, columns or self._names))
        if change.conflict is not None:
            self._insert_or_update(change, change.conflict, columns or self._names)
            return
        if change.overwrites:
            self._remove(self._rows(self._target(None)), replaced=True)
        self._add(change.query, columns or self._names)

    def _names_of(self, query: exp.Expression) -> list[exp.Identifier]:
        """Return the column names of a query."""
        names = answer_circuit(query, self._relations, "new rows", self._source).names
        return [exp.to_identifier(name, quoted=True) for name in names]

    def _insert_or_update(self, change: Insert, conflict: OnConflict, columns: Sequence[str]) -> None:
        """ON CONFLICT as a merge with the new rows, called `excluded`."""
        key = self._columns(conflict.key) or list(self._table.key)
        if not key or set(key) != set(self._table.key):
            message = f"its key is ({', '.join(self._table.key)})" if self._table.key else "it has none"
            raise self._source.error(change.table, f"ON CONFLICT is about the key of {self._table.name}: {message}")
        names = [exp.to_identifier(name, quoted=True) for name in columns]
        excluded = exp.Subquery(
            this=change.query.copy(), alias=exp.TableAlias(this=exp.to_identifier("excluded"), columns=names)
        )
        target = self._target(None)
        same: exp.Expression = exp.true()
        for name in key:
            same = exp.And(this=same, expression=exp.EQ(this=_of(name, target), expression=_of(name, excluded)))
        values = tuple(Assignment(name, _of(name.name, excluded)) for name in names)
        whens = [MergeClause("not matched", None, "insert", values, None)]
        if conflict.assignments is not None:
            assigned = tuple(replace(a, value=_qualified(a.value, target, self._names)) for a in conflict.assignments)
            condition = None if conflict.condition is None else _qualified(conflict.condition, target, self._names)
            whens.append(MergeClause("matched", condition, "update", assigned, None))
        self.merge(Merge(change.source, change.start, change.end, change.table, None, excluded, same, tuple(whens)))

    def delete(self, change: Delete) -> None:
        self._remove(_where(self._rows(self._target(change.alias)), change.condition))

    def update(self, change: Update) -> None:
        target = self._target(change.alias)
        self._remove(_where(self._rows(target), change.condition), replaced=True)
        self._add(_where(self._updated(target, change.assignments), change.condition), self._names)

    def merge(self, change: Merge) -> None:
        target, using = self._target(change.alias), change.using
        if all(when.kind != "not matched by source" for when in change.whens):
            self._look_up(target, using, change.condition)
        matched = [when for when in change.whens if when.kind == "matched"]
        is_plain_delete = [(when.action, when.condition) for when in matched] == [("delete", None)]
        if is_plain_delete:
            self._remove(_join(self._rows(target), using, change.condition, "LEFT SEMI"))
        else:
            self._merge_matched(target, change, matched)
        for when, condition in _in_order(w for w in change.whens if w.kind == "not matched by source"):
            rest = _where(_join(self._rows(target), using, change.condition, "LEFT ANTI"), condition)
            self._remove(rest, replaced=when.action == "update")
            if when.action == "update":
                updated = self._updated(target, self._assignments(when, None))
                self._add(_where(_join(updated, using, change.condition, "LEFT ANTI"), condition), self._names)
        for when, condition in _in_order(w for w in change.whens if w.kind == "not matched"):
            assignments = self._assignments(when, using)
            names = self._columns([a.column for a in assignments])
            values = exp.select(*(a.value.copy() for a in assignments)).from_(using.copy())
            self._add(_where(_join(values, target, change.condition, "LEFT ANTI"), condition), names)

    def _look_up(self, target: exp.Table, using: exp.Expression, condition: exp.Expression) -> None:
        """Find the rows of the table that a source may match by the values that the condition equates with columns."""
        if self._table.name.lower() in {read.name.lower() for read in names_read(exp.select("*").from_(using.copy()))}:
            return
        given = dict(self._equated(target, condition))
        values = exp.select(*(value.copy() for value in given.values())).from_(using.copy())
        if not given:
            return
        name = self._fresh("keys of")
        circuit = view_circuit(values, self._relations, name, self._source, tuple(given)).circuit
        types, own = circuit.type_of(circuit.sinks[name]).schema.types, self._table.schema.types
        if all(types[c] is own[c] or (types[c].is_integer and own[c].is_integer) for c in given):
            self._keyed = tuple(given)
            self._keys = ViewDefinitions((CatalogView(name, circuit.type_of(circuit.sinks[name])),), circuit)

    def _equated(self, target: exp.Table, condition: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
        """Yield the columns of the table that a condition equates with values of the source alone."""
        own = target.alias_or_name.lower()
        names = {name.lower(): name for name in self._names}
        equations = [part for part in conjuncts(condition) if isinstance(part, exp.EQ) and not part.find(exp.Query)]
        sides = [pair for part in equations for pair in ((part.this, part.expression), (part.expression, part.this))]
        for column, value in sides:
            is_own = isinstance(column, exp.Column) and column.table.lower() == own and column.name.lower() in names
            if is_own and all(c.table and c.table.lower() != own for c in value.find_all(exp.Column)):
                yield names[column.name.lower()], value

    def _merge_matched(self, target: exp.Table, change: Merge, whens: Sequence[MergeClause]) -> None:
        """Lower the clauses for matched pairs; the first fitting clause applies, and each row may match once."""
        conditions: list[exp.Expression] = []
        for when, condition in _in_order(whens):
            pairs = _join(self._rows(target), change.using, change.condition, "INNER")
            self._remove(_where(pairs, condition), replaced=when.action == "update")
            conditions.append(condition or exp.true())
            if when.action == "update":
                updated = self._updated(target, self._assignments(when, change.using))
                self._add(_where(_join(updated, change.using, change.condition, "INNER"), condition), self._names)
        if conditions:
            pairs = _join(self._rows(target), change.using, change.condition, "INNER")
            once = _join(self._rows(target), change.using, change.condition, "LEFT SEMI")
            several = exp.Except(this=_where(pairs, balanced(exp.Or, conditions)), expression=once, distinct=False)
            self._ambiguous = self._query("rows changed twice in", several)

    @property
    def _names(self) -> list[str]:
        return list(self._table.schema.names)

    def _target(self, alias: exp.Identifier | None) -> exp.Table:
        name = exp.to_identifier(self._table.name, quoted=True)
        return exp.Table(this=name, alias=exp.TableAlias(this=alias.copy()) if alias else None)

    def _rows(self, target: exp.Table) -> exp.Select:
        """Return the rows of the table, under the name by which the statement knows it."""
        return exp.select(*(_of(name, target) for name in self._names)).from_(target.copy())

    def _updated(self, target: exp.Table, assignments: Sequence[Assignment]) -> exp.Select:
        """Return the rows of the table with assigned values in some columns."""
        given: dict[str, list[_FieldValue]] = {}
        for one in assignments:
            name, fields = self._path(target, one)
            given.setdefault(name, []).append((fields, self._given(one.value, name)))
        types = {column.name: column.type for column in self._table.schema}
        values = {name: self._assembled(_of(name, target), types[name], parts) for name, parts in given.items()}
        columns = (exp.alias_(values[n], n, quoted=True) if n in values else _of(n, target) for n in self._names)
        return exp.select(*columns).from_(target.copy())

    def _path(self, target: exp.Table, assignment: Assignment) -> tuple[str, Sequence[exp.Identifier]]:
        """Return the column that is assigned, and the fields within it."""
        first, *rest = assignment.parts or (assignment.column,)
        if rest and first.name.lower() == target.alias_or_name.lower():
            first, *rest = rest
        (name,) = self._columns([first])
        return name, rest

    def _assembled(self, whole: exp.Expression, type_: Type, parts: Sequence[_FieldValue]) -> exp.Expression:
        """Return a struct value with some fields replaced."""
        (path, value), *others = parts
        if not path and not others:
            return value
        place = next((path[0] for path, _ in parts if path), None)
        if place is None or not all(path for path, _ in parts):
            raise self._source.error(place or value, "a column stands here twice, or as a whole and by its fields")
        if type_.kind is not Kind.STRUCT:
            raise self._source.error(place, f"there is no field {place.name} in {written(type_)}")
        names = [field.name for field in type_.fields]
        given: dict[str, list[_FieldValue]] = {}
        for (first, *rest), value in parts:
            given.setdefault(find_name(first, "field called", names, self._source), []).append((rest, value))
        result: list[exp.Expression] = []
        for field in type_.fields:
            own = exp.Dot(this=whole.copy(), expression=exp.to_identifier(field.name, quoted=True))
            inner = given.get(field.name)
            result += [exp.Literal.string(field.name), self._assembled(own, field.type, inner) if inner else own]
        return exp.Anonymous(this="named_struct", expressions=result)

    def _with_defaults(self, query: exp.Expression, columns: Sequence[str]) -> exp.Expression:
        """Return a query with what columns have by default instead of DEFAULT, which stands in rows of VALUES."""
        if not any(_is_default(value) for row in _rows_of(query) for value in row):
            return query
        result = query.copy()
        for row in _rows_of(result):
            for name, value in zip(columns, row, strict=False):
                value.replace(self._given(value, name))
        return result

    def _given(self, value: exp.Expression, name: str) -> exp.Expression:
        """Return the value to store in a column; DEFAULT is replaced by the column's default."""
        return self._default(name) if _is_default(value) else value.copy()

    def _default(self, name: str) -> exp.Expression:
        text = self._storing[name].default if name in self._storing else ""
        result = exp.Null() if not text else parse_one(text, read=Deltic, into=exp.Condition)
        assert isinstance(result, exp.Expression)
        return result

    def _assignments(self, when: MergeClause, using: exp.Expression | None) -> Sequence[Assignment]:
        """Return what a clause assigns; `*` stands for all columns, from the source's of the same names."""
        if when.assignments is not None:
            return when.assignments
        if using is None:
            raise self._source.error(when.place, "UPDATE SET * has no row of the source here", "write the columns")
        return [Assignment(exp.to_identifier(name), _of(name, using)) for name in self._names]

    def _columns(self, names: Sequence[exp.Identifier]) -> list[str]:
        """Return the columns of the table that are named, each once."""
        for number, name in enumerate(names):
            if name.name.lower() in {other.name.lower() for other in names[:number]}:
                raise self._source.error(name, f"column {name.name} stands here twice")
        return [find_name(name, f"column in {self._table.name} called", self._names, self._source) for name in names]

    def _remove(self, query: exp.Expression, replaced: bool = False) -> None:
        name = self._query("old rows of", query)
        self._signs[name] = -1
        if replaced:
            self._replaced.add(name)

    def _add(self, query: exp.Expression, columns: Sequence[str]) -> None:
        """Insert the query's rows, its values into these columns, NULL or the default into others."""
        values = _values(query)
        if values and len(values) != len(columns):
            message = f"{count_of(len(values), 'value')} for {count_of(len(columns), 'column')}"
            raise self._source.error(values[0], f"{message} of {self._table.name}: {', '.join(columns)}")
        places = dict(zip(columns, values, strict=True)) if values else {}

        def store(given: Mapping[str, Typed]) -> dict[str, Typed]:
            return {c.name: self._bounded(c, given.get(c.name), places.get(c.name, query)) for c in self._table.schema}

        if (literal := _literal(query)) is not None and not literal.args.get("alias"):
            names = [exp.to_identifier(column, quoted=True) for column in columns]
            literal.set("alias", exp.TableAlias(this=exp.to_identifier(self._table.name), columns=names))
        name = self._fresh("new rows of")
        self._define(name, stored_circuit(query, self._relations, name, self._source, columns, store))
        self._signs[name] = 1

    def _bounded(self, column: Column, given: Typed | None, place: exp.Expression) -> Typed:
        """Return the value of a column, which has a default, or a bound for its texts."""
        storing = self._storing.get(column.name)
        if storing is None:
            return self._stored(column, given, place)
        if given is None and storing.default:
            given = default_value(self._default(column.name), SourceText(storing.default))
        result = self._stored(column, given, place)
        return result if storing.limit is None else within_bound(result, storing.limit, storing.fixed)

    def _stored(self, column: Column, given: Typed | None, place: exp.Expression) -> Typed:
        """Return the value of a column of the table, of one that was given; `place` is where it was written."""
        name = f"column {column.name} of {self._table.name}"
        if given is None and not column.nullable:
            raise self._source.error(place, f"{name} is NOT NULL, and gets no value", "give it one")
        if given is not None and given.type.type is column.type:
            return given
        target = written(column.type)
        value = NULL if given is None else given
        if not (value.is_null or is_assignable(open_type(value), column.type, self._by_name)):
            message = f"{name} is {target}, and its value is {written(value.type.type)}"
            raise self._source.error(place, message, f"convert it: CAST(… AS {target})")
        result = typed(exp.cast(exp.column("value"), target, dialect="spark"), lambda _: value, self._source)
        if result.type.type is not column.type:
            raise self._source.error(place, f"{name} is {column.type}, which no value of SQL is", "insert from Python")
        return result

    def _query(self, what: str, query: exp.Expression) -> str:
        """Return the name of a view with all columns of the table; messages say `what` its rows are."""
        name = self._fresh(what)
        self._define(name, view_circuit(query, self._relations, name, self._source, self._names).circuit)
        return name

    def _fresh(self, what: str) -> str:
        return f"{what} {self._table.name} ({len(self._definitions) + 1})"

    def _define(self, name: str, circuit: Circuit) -> None:
        view = CatalogView(name, circuit.type_of(circuit.sinks[name]))
        self._definitions.append(ViewDefinitions((view,), circuit))


def _literal(query: exp.Expression) -> exp.Values | None:
    """Return the VALUES that a query has its rows from, as they are."""
    source = query.args.get("from_") if isinstance(query, exp.Select) and query.is_star else None
    return source.this if source and isinstance(source.this, exp.Values) else None


def _rows_of(query: exp.Expression) -> Iterator[list[exp.Expression]]:
    """Yield the values of each row of VALUES that a query has its rows from."""
    literal = _literal(query)
    for row in literal.expressions if literal is not None else ():
        yield row.expressions if isinstance(row, exp.Tuple) else [row]


def _values(query: exp.Expression) -> list[exp.Expression]:
    """Return the values of a row of the query as written, those of the first one of VALUES; none where it has `*`."""
    columns = query.expressions if isinstance(query, exp.Select) and not query.is_star else []
    return next(_rows_of(query), columns)


def _is_default(value: exp.Expression) -> bool:
    return isinstance(value, exp.Var | exp.Column) and value.name.upper() == "DEFAULT"


def _qualified(expression: exp.Expression, relation: exp.Expression, names: Sequence[str]) -> exp.Expression:
    """Return the expression with columns of these names that name no relation as those of this one."""
    copy, own = expression.copy(), {name.lower() for name in names}
    for column in copy.find_all(exp.Column):
        if not column.table and column.name.lower() in own:
            column.set("table", exp.to_identifier(relation.alias_or_name, quoted=True))
    return copy


def _of(name: str, relation: exp.Expression) -> exp.Column:
    """Return a column of a relation of FROM."""
    return exp.column(name, table=relation.alias_or_name, quoted=True)


def _where(query: exp.Select, condition: exp.Expression | None) -> exp.Select:
    return query if condition is None else query.where(condition.copy())


def _join(query: exp.Select, other: exp.Expression, on: exp.Expression, kind: str) -> exp.Select:
    return query.join(other.copy(), on=on.copy(), join_type=kind)


def _in_order(whens: Iterable[MergeClause]) -> Iterable[tuple[MergeClause, exp.Expression | None]]:
    """Yield the clauses, each with the condition that it is the first one that is for a row."""
    earlier: exp.Expression | None = None
    for when in whens:
        yield when, _both(earlier, when.condition)
        if when.condition is None:
            return
        is_true = exp.Coalesce(this=when.condition.copy(), expressions=[exp.false()])
        earlier = _both(earlier, exp.Not(this=exp.Paren(this=is_true)))


def _both(one: exp.Expression | None, other: exp.Expression | None) -> exp.Expression | None:
    """Return the conjunction of conditions, None being true."""
    if one is None or other is None:
        return one or other
    return exp.And(this=exp.Paren(this=one.copy()), expression=exp.Paren(this=other.copy()))
