"""Rules: the clauses of a body from left to right, each a step from the bindings before it to those after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import cast, checked, column, conjunction, literal, type_of
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog.lowering.atoms import project
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.syntax.expressions import nodes_in, transform
from deltic.functions import call
from deltic.values.types import Column, Schema, Type
from deltic_ddlog import core
from deltic_ddlog import types as t
from deltic_ddlog.checked import AbsentStep, AssignmentStep, ConditionStep, FlatMapStep, GroupBy, Head, MatchStep
from deltic_ddlog.lowering.code import Compiled, Given, GroupedList, RowRecord, Stored, VariableBinding
from deltic_ddlog.lowering.columns import Form, delayed_name
from deltic_ddlog.lowering.expressions import Expressions, field_name, plain, wrapped
from deltic_ddlog.lowering.reductions import Reduce, Step, row_of

Tree = exp.Expression
Forms = Callable[[str], Form]
"""The form of a relation's records."""
Found = Mapping[str, tuple[VariableBinding, list[Tree]]]
"""The variables that rows bind: the columns of their values, and the expressions for them."""
Compared = Sequence[tuple[str, core.TypedExpression]]
"""New variables of a pattern, and the expressions whose values theirs equal."""


class RuleBindings:
    """The bindings of a rule's variables, as its clauses are lowered into a scope one after the other.

    `node` has a column for each variable that is known, or several, as `known` says.
    """

    def __init__(self, scope: LoweringScope, expressions: Expressions, forms: Forms) -> None:
        self._scope, self._builder, self._expressions, self._forms = scope, scope.builder, expressions, forms
        self._of = expressions.of
        self._atoms: list[int] = []
        self.known: dict[str, VariableBinding] = {}
        self._count = 0

    def add(self, clause: Step) -> None:
        """One more clause, but for `Inspect`, which binds nothing."""
        match clause:
            case MatchStep():
                self._match(clause)
            case AbsentStep():
                self._absent(clause)
            case ConditionStep():
                self._meet(clause)
            case AssignmentStep():
                self._assign(clause.pattern, clause.expression)
            case FlatMapStep():
                self._flat_map(clause)
            case GroupBy():
                self._group(clause)
            case Reduce():
                self._reduce(clause)

    def head(self, head: Head) -> int:
        """Return the rows that a head derives."""
        form, record, node = self._forms(head.relation), plain(head.record, self.known), self.node
        if form.constructor is None:
            parts: Sequence[core.TypedExpression] = (record,)
        elif isinstance(record, core.MakeStruct):
            parts = record.items
        else:
            parts = [_field(record, type_, i) for i, type_ in enumerate(form.types)]
        values = [self._expressions.value(part, self.known) for part in parts]
        return project(self._builder, node, form.schema.columns, values)

    @property
    def node(self) -> int:
        """The node that carries the bindings."""
        if not self._atoms:
            self._atoms = [self._scope.constant(Schema(()), [()])]
        if len(self._atoms) > 1:
            self._atoms = [self._builder.add(ops.Join(), *self._atoms)]
        return self._atoms[0]

    # Atoms

    def _match(self, match: MatchStep) -> None:
        form = self._forms(match.relation)
        source = self._scope.relation(delayed_name(match.relation, match.delay))
        pattern, compared = self._without_variables(match.pattern)
        node, result = _selected(self._builder, source, form, pattern, self._expressions.unguarded())
        self._join_on(compared, node, result)

    def _join_on(self, compared: Compared, node: int, found: Found) -> None:
        """Join the bindings with an atom's, some of whose columns equal expressions over what is known."""
        places = self._counterparts(compared, found)
        columns: list[Column] = []
        values: list[Tree] = []
        for name, (binding, trees) in found.items():
            if name in places:
                columns += [replace(c, name=n) for c, n in zip(binding.columns, places[name], strict=True)]
            else:
                columns += binding.columns
                self._know(name, binding)
            values += trees
        self._atoms.append(self._projected(node, columns, values))

    def _counterparts(self, compared: Compared, found: Found) -> dict[str, list[str]]:
        """Return the columns of the bindings that the columns of an atom equal, by the atom's variables."""
        places: dict[str, list[str]] = {}
        for fresh, expression in compared:
            binding = found[fresh][0]
            if binding.is_one:
                places[fresh] = [self._named(plain(expression, self.known), fresh)]
            else:
                form = self._expressions.columns.form(binding.type)
                places[fresh] = [
                    self._named(plain(_field(expression, type_, i), self.known), f"{fresh}.{i}")
                    for i, type_ in enumerate(form.types)
                ]
        return places

    def _projected(self, node: int, columns: Sequence[Column], values: Sequence[Tree]) -> int:
        """Return a map to columns that stand once in it; where two have one name, their values must be equal."""
        kept: dict[str, tuple[Column, Tree]] = {}
        equal: list[Tree] = []
        for each, value in zip(columns, values, strict=True):
            if each.name in kept:
                equal.append(exp.EQ(this=kept[each.name][1], expression=value))
            else:
                kept[each.name] = (each, value)
        node = self._builder.add(ops.Filter(conjunction(equal)), node) if equal else node
        return project(self._builder, node, [c for c, _ in kept.values()], [v for _, v in kept.values()])

    def _named(self, expression: core.TypedExpression, fresh: str) -> str:
        """Return the column of the bindings that has the value of an expression, a new one if there is none."""
        if isinstance(expression, core.VariableValue) and self.known[expression.name].is_one:
            return self.known[expression.name].columns[0].name
        value = self._expressions.value(expression, self.known)
        self._extend([(Column(fresh, self._expressions.columns.type(expression.type)), value)])
        return fresh

    def _absent(self, absent: AbsentStep) -> None:
        """Matching records are computed outside the recursion, unless their relation is part of it."""
        form, name = self._forms(absent.relation), delayed_name(absent.relation, absent.delay)
        pattern, compared = self._without_variables(absent.pattern)
        place = self._scope if self._scope.is_recursive(name) else self._scope.outside
        source, result = _selected(place.builder, place.relation(name), form, pattern, self._expressions.unguarded())
        columns = [each for binding, _ in result.values() for each in binding.columns]
        values = [tree for _, trees in result.values() for tree in trees]
        there = self._scope.bring(place.builder.distinct(project(place.builder, source, columns, values)), place)
        places = self._counterparts(compared, result)
        renamed = [
            replace(c, name=n) for v, (b, _) in result.items() for c, n in zip(b.columns, places[v], strict=True)
        ]
        there = self._projected(there, renamed, [column(each.name) for each in columns])
        self._atoms = [self._builder.add(ops.Antijoin(), self.node, self._builder.distinct(there))]

    def _without_variables(self, pattern: core.Pattern) -> tuple[core.Pattern, Compared]:
        """Return the pattern with new variables instead of expressions over known ones, and these expressions."""
        compared: list[tuple[str, core.TypedExpression]] = []

        def change(node: Any) -> Any:
            if not isinstance(node, core.Equal) or not _has_variables(node.expression):
                return node
            compared.append((self._new("?equal"), node.expression))
            return core.Bind(span=node.span, type=node.type, name=compared[-1][0])

        return transform(pattern, change), compared

    def _know(self, name: str, binding: VariableBinding) -> None:
        self.known[name] = binding
        if not binding.is_one:
            form = self._expressions.columns.form(binding.type)
            if form.constructor is not None:
                for i, (type_, each) in enumerate(zip(form.types, binding.columns, strict=True)):
                    self.known[field_name(name, i)] = VariableBinding(type_, (each,), Stored(self._of, type_))

    def _new(self, name: str) -> str:
        """Return the name of a new column."""
        self._count += 1
        return f"{name}.{self._count}"

    # Other clauses

    def _meet(self, condition: ConditionStep) -> None:
        tree = self._expressions.value(condition.expression, self.known)
        if tree.find(exp.Anonymous):
            self._expressions = self._expressions.behind(condition.expression, self.known)
        self._filter([tree])

    def _filter(self, conditions: Sequence[Tree]) -> None:
        if conditions:
            self._atoms = [self._builder.add(ops.Filter(conjunction(conditions)), self.node)]

    def _extend(self, new: Sequence[tuple[Column, Tree]]) -> None:
        """Add columns to the bindings."""
        node = self.node
        columns = self._builder.type_of(node).schema.columns
        values: list[Tree] = [column(each.name) for each in columns]
        added = [*columns, *(each for each, _ in new)], [*values, *(value for _, value in new)]
        self._atoms = [project(self._builder, node, *added)]

    def _assign(self, pattern: core.Pattern, value: core.TypedExpression | VariableBinding) -> None:
        """A value that no column holds, such as a closure or a regular expression, is computed where it is used."""
        columns = self._expressions.columns
        if isinstance(pattern, core.Bind) and isinstance(value, core.TypedExpression) and not columns.has(pattern.type):
            function = self._expressions.function(plain(value, self.known), self.known)
            given = tuple(each for one in function.given for each in self.known[one.name].columns)
            self.known[pattern.name] = VariableBinding(pattern.type, given, function, is_one=False)
            return
        conditions, result = self._expressions.match(pattern, value, self.known)
        self._filter(conditions)
        new = []
        for name, (type_, tree) in result.items():
            if isinstance(tree, VariableBinding):
                self.known[name], self._expressions = tree, self._expressions.behind_match(tree)
                continue
            binding = self._of.binding(name, type_)
            new.append((binding.columns[0], tree))
            self.known[name] = binding
        if new:
            self._extend(new)

    def _flat_map(self, clause: FlatMapStep) -> None:
        """The elements of an array in a column, one by one."""
        type_, all_of, place, each = clause.pattern.type, *map(self._new, ("?all", "?place", "?each"))
        tree = self._expressions.items(clause.items, type_, self.known)
        before = self._builder.type_of(self.node).schema.columns
        self._extend([(Column(all_of, type_of(tree, self._builder.type_of(self.node).schema.types)), tree)])
        ends = (literal(0, Type.INT64), cast(call("size", column(all_of)), Type.INT64))
        node = self._builder.add(ops.FlatMap(place, "range", ends), self.node)
        result = checked(call("get", column(all_of), column(place)))
        added = Column(each, self._expressions.columns.type(type_))
        self._atoms = [project(self._builder, node, [*before, added], [*(column(c.name) for c in before), result])]
        self._assign(clause.pattern, self._of.binding(each, type_))

    def _group(self, clause: GroupBy) -> None:
        """Lists of rows with their numbers of derivations; what is visible after it tells groups apart."""
        columns, row = self._expressions.columns, row_of(self.known, clause.visible)
        keys = [each.name for each in self._keys(clause.visible)]
        rest = [each.name for _, binding in row for each in binding.columns]
        value, count, entry, group = map(self._new, ("?value", "?count", "?entry", "?group"))
        counted = ops.Aggregate(tuple(dict.fromkeys((*keys, *rest))), (ops.AggregateCall("count", "", count),))
        self._atoms = [self._builder.add(counted, self.node)]
        tree = self._expressions.value(clause.values, self.known)
        self._extend([(Column(value, columns.type(clause.values.type)), tree)])
        own = [name if name not in rest[:place] else self._new("?again") for place, name in enumerate(rest)]
        named = list(zip((value, count, *own), (value, count, *rest), strict=True))
        parts = [part for field, name in named for part in (literal(field, Type.STRING), column(name))]
        types = self._builder.type_of(self.node).schema
        fields = (replace(types.column(name), name=field, nullable=True) for field, name in named)
        self._extend([(Column(entry, Type.struct(fields)), call("named_struct", *parts))])
        collected = ops.Aggregate(tuple(keys), (ops.AggregateCall("collect_list", entry, group),))
        self._atoms = [node := self._builder.add(collected, self.node)]
        self._forget_all_but(clause.visible)
        key = self._expressions.function(clause.key, self.known)
        listed = self._builder.type_of(node).schema.columns[-1]
        given = tuple(Given(name, binding.type, len(binding.columns), binding.read) for name, binding in row)
        of_key = (each for one in key.given for each in self.known[one.name].columns)
        read = GroupedList(self._of, key, clause.values.type, given)
        self.known[clause.name] = VariableBinding(clause.type, (listed, *of_key), read, is_one=False)

    def _forget_all_but(self, visible: Sequence[str]) -> None:
        """After a group only these variables are bound; rows that an earlier condition excludes are gone."""
        self._expressions = self._expressions.unguarded()
        before, self.known = self.known, {}
        for name in visible:
            self._know(name, before[name])

    def _reduce(self, clause: Reduce) -> None:
        """Aggregates of the engine, each over the rows of its group, or over their values where these are enough."""
        columns, keys = self._expressions.columns, self._keys(clause.visible)
        measures = {r.names: [(self._new("?by"), each) for each in r.by] for r in clause.reductions}
        parts = [(self._new("?part"), each) for each in clause.parts]
        functions = {reduction.function for reduction in clause.reductions}
        rows = [c for _, binding in row_of(self.known, clause.visible) for c in binding.columns]
        kept = list({c.name: c for c in (*keys, *(rows if functions - {"min", "max"} else ()))}.values())
        source = self._computed(kept, [*parts, *(each for result in measures.values() for each in result)])
        if functions & {"count", "sum"}:
            source = self._builder.distinct(source)
        calls, nodes, known = list[ops.AggregateCall](), list[int](), list[tuple[Column, Tree]]()
        for reduction in clause.reductions:
            for name, type_ in zip(reduction.names, reduction.types, strict=True):
                known.append((Column(name, columns.type(type_)), _as_value(name, reduction.function, type_)))
            match reduction.function:
                case "first":
                    order = (*(name for name, _ in measures[reduction.names]), *reduction.rows)
                    names = dict(zip((name for name, _ in parts), reduction.names, strict=True))
                    nodes.append(self._first(source, keys, order, reduction.is_last, names))
                case "count":
                    calls.append(ops.AggregateCall("count", "", reduction.names[0]))
                case "sum":
                    calls.append(ops.AggregateCall("sum", measures[reduction.names][0][0], reduction.names[0]))
                case extreme:
                    calls.append(ops.AggregateCall(extreme, parts[0][0], reduction.names[0]))
        if calls or not nodes:
            nodes.append(self._builder.add(ops.Aggregate(tuple(c.name for c in keys), tuple(calls)), source))
        self._atoms = nodes
        self._forget_all_but(clause.visible)
        if known:
            schema = self._builder.type_of(self.node).schema
            trees: list[Tree] = [column(c.name) for c in keys]
            own = [schema.column(c.name) for c in keys]
            values = [*trees, *(tree for _, tree in known)]
            self._atoms = [project(self._builder, self.node, [*own, *(c for c, _ in known)], values)]
        for reduction in clause.reductions:
            for name, type_ in zip(reduction.names, reduction.types, strict=True):
                self.known[name] = self._of.binding(name, type_)

    def _keys(self, visible: Sequence[str]) -> list[Column]:
        """Return the columns that tell groups apart."""
        names = dict.fromkeys(c.name for name in visible for c in self.known[name].columns)
        schema = self._builder.type_of(self.node).schema
        return [schema.column(name) for name in names]

    def _computed(self, keys: Sequence[Column], values: Sequence[tuple[str, core.TypedExpression]]) -> int:
        """Columns of the bindings, with others for these values."""
        columns = [Column(name, self._expressions.columns.type(each.type)) for name, each in values]
        trees = [self._expressions.value(each, self.known) for _, each in values]
        return project(self._builder, self.node, [*keys, *columns], [*(column(c.name) for c in keys), *trees])

    def _first(
        self, source: int, keys: Sequence[Column], order: Sequence[str], is_last: bool, names: Mapping[str, str]
    ) -> int:
        """Return the keys, and the columns `names` by their new names, of the first row of each group."""
        ordered = tuple(ops.Order(name, is_last and name.startswith("?by")) for name in order)
        top = self._builder.add(ops.Top(tuple(c.name for c in keys), ordered, 1), source)
        schema = self._builder.type_of(top).schema
        kept = [*keys, *(replace(schema.column(old), name=new) for old, new in names.items())]
        return project(self._builder, top, kept, [*(column(c.name) for c in keys), *map(column, names)])


def _as_value(name: str, function: str, type_: t.DdlogType) -> Tree:
    """Return an aggregate's result as a value of a type; counts are signed, sums are modulo 2^64."""
    if function == "count":
        return cast(column(name), Type.UINT64)
    if function == "sum" and isinstance(type_, t.Bit | t.Signed):
        return wrapped(column(name), type_)
    return column(name)


def _field(expression: core.TypedExpression, type_: t.DdlogType, place: int) -> core.TypedExpression:
    return core.FieldOf(span=expression.span, type=type_, of=expression, index=place)


def _has_variables(expression: core.TypedExpression) -> bool:
    return any(isinstance(node, core.VariableValue) for node in nodes_in(expression))


def _selected(
    builder: CircuitBuilder, source: int, form: Form, pattern: core.Pattern, expressions: Expressions
) -> tuple[int, Found]:
    """Return the rows of records that match a pattern, with its variables."""
    columns = builder.type_of(source).schema.columns
    conditions: list[Tree] = []
    result: dict[str, tuple[VariableBinding, list[Tree]]] = {}
    while isinstance(pattern, core.As):
        result[pattern.name] = _whole(pattern.name, pattern.type, form, columns, expressions.of)
        pattern = pattern.pattern
    if isinstance(pattern, core.Bind):
        result[pattern.name] = _whole(pattern.name, pattern.type, form, columns, expressions.of)
    elif isinstance(pattern, core.Equal):
        row = form.row(expressions.constant(pattern.expression))
        pairs = zip(columns, row, strict=True)
        conditions = [exp.EQ(this=column(c.name), expression=literal(value, c.type)) for c, value in pairs]
    elif not isinstance(pattern, core.Anything):
        assert isinstance(pattern, core.StructPattern)
        parts = (pattern,) if form.constructor is None else pattern.parts
        for part, type_, each in zip(parts, form.types, columns, strict=True):
            more, variables = expressions.match(part, expressions.of.binding(each.name, type_), {})
            conditions += more
            for name, (part_type, tree) in variables.items():
                assert isinstance(tree, Tree)  # relations have no others
                result[name] = (expressions.of.binding(name, part_type), [tree])
    return builder.add(ops.Filter(conjunction(conditions)), source) if conditions else source, result


def _whole(
    name: str, type_: t.DdlogType, form: Form, columns: Sequence[Column], of: Compiled
) -> tuple[VariableBinding, list[Tree]]:
    """Return a variable for whole records."""
    trees: list[Tree] = [column(each.name) for each in columns]
    if form.constructor is None:
        return of.binding(name, type_), trees
    own = tuple(replace(each, name=f"{name}.{each.name}") for each in columns)
    return VariableBinding(type_, own, RowRecord(of, form.record), is_one=False), trees
