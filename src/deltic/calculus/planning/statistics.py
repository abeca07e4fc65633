"""Statistics of tables and views, and size estimates of the nodes of a circuit.

A sample shows the selectivity of conditions on one relation. Otherwise columns are assumed to be independent and
values equally frequent. Joins of whole relations are different, because one frequent value may have more rows than all
others: for two relations that share one column the frequencies are used, Σ_y deg_a(y) · deg_b(y), and for more
relations a sample.

Without rows, a comparison of order selects a third, an equality with an unknown value a tenth [System R, Selinger et
al. 1979].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, columns_of, conjuncts, is_checked, is_literal, substituted
from deltic.circuit.graph import Node
from deltic.values.types import Schema

# A column of a relation: the name of the relation in statistics, and the position of the column.
Origin = tuple[str, int]
# A table with the positions of some of its columns, by variable.
Table = tuple[str, Mapping[str, int]]


def recursive(name: str) -> str:
    """Return the name of a recursive relation in statistics, which differs from that of a table of the same name."""
    return f"recursive {name}"


def place_name(place: int) -> str:
    """Return the name of a column in conditions on a relation, by its position."""
    return f"#{place}"


class Statistics(Protocol):
    """Statistics of tables, and of recursive relations that have been computed."""

    def rows(self, relation: str) -> float | None:
        """Return the number of rows; None if unknown."""

    def distinct(self, relation: str, columns: Sequence[int]) -> float:
        """Return the number of distinct rows of the projection to these columns."""

    def passing(self, relation: str, conditions: Sequence[exp.Expression], guess: float) -> float:
        """Return the fraction of rows that meets conditions over columns named by `place_name`; `guess` without
        rows.
        """

    def meeting(self, one: Origin, other: Origin) -> float:
        """Return the number of pairs of rows that have equal values in these columns."""

    def joined(self, tables: Sequence[Table]) -> float:
        """Return the number of rows of the join of tables in this order, estimated by a sample."""

    def sampled(self, tables: Sequence[Table], kept: Sequence[str], rows: float) -> float | None:
        """Return the number of distinct rows of these variables in a join, from a sample; `rows` is its expected size.

        None without a usable sample.
        """


@dataclass(frozen=True)
class Selection:
    """The rows of a relation that meet conditions on its columns, which are named by `place_name`."""

    relation: str
    conditions: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True)
class NodeSize:
    """The estimated rows of a node, distinct values of its columns, and the original columns of unchanged ones.

    If it is the full join of tables, `tables` are these with their variables. If its rows are those of a selection,
    possibly with fewer columns, that is `selection`.
    """

    rows: float
    distinct: Mapping[str, float]
    origins: Mapping[str, Origin]
    tables: tuple[Table, ...] = ()
    selection: Selection | None = None

    def renamed(self, names: Mapping[str, str]) -> NodeSize:
        """Return the same size with columns renamed; columns without a new name are dropped."""
        return NodeSize(
            self.rows,
            {new: self.distinct[old] for old, new in names.items()},
            {new: self.origins[old] for old, new in names.items() if old in self.origins},
            _renamed(self.tables, names),
            self.selection,
        )

    def beside(self, name: str, other: str) -> NodeSize:
        """Return the same with one more column, which equals another."""
        origins = {**self.origins, **({name: self.origins[other]} if other in self.origins else {})}
        tables = tuple((t, {**c, **({name: c[other]} if other in c else {})}) for t, c in self.tables)
        return replace(self, distinct={**self.distinct, name: self.distinct[other]}, origins=origins, tables=tables)

    def of_rows(self, rows: float) -> NodeSize:
        """Return the size of a subset or a repetition of these rows with `rows` rows."""
        distinct = {name: min(d, rows) for name, d in self.distinct.items()}
        return replace(self, rows=rows, distinct=distinct, tables=(), selection=None)


def _renamed(tables: tuple[Table, ...], names: Mapping[str, str]) -> tuple[Table, ...]:
    """Return the tables with their variables renamed; empty if a variable that several tables share is dropped."""
    shared = [v for _, columns in tables for v in columns if v not in names]
    if len(set(shared)) < len(shared):
        return ()
    return tuple((name, {names[v]: column for v, column in columns.items() if v in names}) for name, columns in tables)


def _in_turn(joined: tuple[Table, ...], others: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables in join order: each shares a variable with an earlier one where possible."""
    pending = list(others)
    while pending:
        known = {v for _, columns in joined for v in columns}
        near = next((table for table in pending if known & table[1].keys()), pending[0])
        pending.remove(near)
        joined = (*joined, near)
    return joined


# The size of a body's import, by its index; computed on demand.
Imports = Callable[[int], "NodeSize | None"]


class Sizes:
    """The sizes of the nodes that `node` returns by their numbers; `imports` returns those of a body's imports."""

    def __init__(
        self, node: Callable[[int], Node], statistics: Statistics, imports: Imports = lambda index: None
    ) -> None:
        self.node, self.statistics, self.imports = node, statistics, imports
        self._known: dict[int, NodeSize | None] = {}

    def schema(self, number: int) -> Schema:
        """Return the columns of a node that carries one Z-set."""
        type_ = self.node(number).type
        assert isinstance(type_, ZSetType)
        return type_.schema

    def of(self, number: int) -> NodeSize | None:
        """Return the size of a node; None if it depends on an unknown size."""
        if number not in self._known:
            self._known[number] = self._of(number)
        return self._known[number]

    def _of(self, number: int) -> NodeSize | None:
        node = self.node(number)
        if isinstance(node.operator, ops.Source):
            return self._named(node.operator.name, number)
        if isinstance(node.operator, ops.BundleRelation | ops.Feedback):
            return self._named(recursive(node.operator.name), number)
        if isinstance(node.operator, ops.Import):
            return self.imports(node.operator.index)
        if isinstance(node.operator, ops.Constant):
            rows = len(node.operator.rows)
            return NodeSize(rows, dict.fromkeys(node.operator.schema.names, rows), {})
        inputs = [size for size in map(self.of, node.inputs) if size is not None]
        rule = _RULES.get(type(node.operator))
        if rule is None or len(inputs) != len(node.inputs):
            return None
        return rule(self, node.operator, inputs)

    def _named(self, name: str, number: int) -> NodeSize | None:
        rows = self.statistics.rows(name)
        if rows is None:
            return None
        names = self.schema(number).names
        distinct = {column: self.statistics.distinct(name, (i,)) for i, column in enumerate(names)}
        columns = {column: i for i, column in enumerate(names)}
        origins = {column: (name, i) for column, i in columns.items()}
        return NodeSize(rows, distinct, origins, ((name, columns),) if columns else (), Selection(name))

    def joined(self, a: NodeSize, b: NodeSize) -> NodeSize:
        """Return the size of a join."""
        shared = [name for name in a.distinct if name in b.distinct]
        tables = _in_turn(a.tables, b.tables) if a.tables and b.tables else ()
        rows = a.rows * b.rows
        if len(tables) > 2 and shared:
            rows = self.statistics.joined(tables)
        elif len(shared) == 1 and shared[0] in a.origins and shared[0] in b.origins:
            one, other = a.origins[shared[0]], b.origins[shared[0]]
            pairs = (self.statistics.rows(one[0]) or 0) * (self.statistics.rows(other[0]) or 0)
            rows *= self.statistics.meeting(one, other) / pairs if pairs else 0
        else:
            for name in shared:
                rows /= max(a.distinct[name], b.distinct[name], 1)
        distinct = {**a.distinct, **b.distinct, **{n: min(a.distinct[n], b.distinct[n]) for n in shared}}
        return replace(NodeSize(rows, distinct, {**b.origins, **a.origins}).of_rows(rows), tables=tables)

    def filtered(self, size: NodeSize, predicate: exp.Expression) -> NodeSize:
        """Return the size after a filter."""
        guess = selectivity(predicate, size.distinct)
        selection = _narrowed(size, predicate)
        if selection is None:
            return _at_one_value(size.of_rows(size.rows * guess), predicate)
        whole = self.statistics.rows(selection.relation) or 0.0
        part = self.statistics.passing(selection.relation, selection.conditions, guess * size.rows / max(1.0, whole))
        result = size.of_rows(min(size.rows, part * whole))
        return _at_one_value(replace(result, selection=selection), predicate)

    def projected(self, size: NodeSize, columns: Sequence[str]) -> NodeSize:
        """Return the size of the set of these columns, which loses the original frequencies."""
        origins = [size.origins.get(name) for name in columns]
        kept = replace(size.renamed({name: name for name in columns}), origins={})
        relations = {origin[0] for origin in origins if origin}
        (relation,) = relations if len(relations) == 1 and all(origins) else ("",)
        if relation and size.rows == self.statistics.rows(relation):
            return kept.of_rows(self.statistics.distinct(relation, [o[1] for o in origins if o]))
        places = math.prod(size.distinct[name] for name in columns)
        return kept.of_rows(thrown(size.rows, places))


def _narrowed(size: NodeSize, predicate: exp.Expression) -> Selection | None:
    """Return the selection of the size, narrowed by a condition; None if it cannot be evaluated on rows."""
    names = columns_of(predicate)
    if size.selection is None or is_checked(predicate) or not all(name in size.origins for name in names):
        return None
    if predicate.find(exp.Anonymous):
        return None
    places = {name: column(place_name(size.origins[name][1])) for name in names}
    return replace(size.selection, conditions=(*size.selection.conditions, substituted(predicate, places)))


def _at_one_value(size: NodeSize, predicate: exp.Expression) -> NodeSize:
    """Return the size of rows that meet a condition; a column that equals a constant has one value."""
    if isinstance(predicate, exp.EQ | exp.NullSafeEQ):
        for side, other in ((predicate.this, predicate.expression), (predicate.expression, predicate.this)):
            if isinstance(side, exp.Column) and is_literal(other):
                return replace(size, distinct={**size.distinct, side.name: min(1.0, size.rows)})
    return size


def thrown(balls: float, places: float) -> float:
    """Return the expected number of places that are hit when this many balls are thrown into them at random."""
    return -places * math.expm1(-balls / places) if places else 0.0


SizeRule = Callable[[Sizes, Any, list[NodeSize]], NodeSize]
_RULES: dict[type[ops.Operator], SizeRule] = {}


def _rule(*kinds: type[ops.Operator]) -> Callable[[SizeRule], SizeRule]:
    """Register the rule that derives the size of operators from those of their inputs."""

    def enter(rule: SizeRule) -> SizeRule:
        _RULES.update(dict.fromkeys(kinds, rule))
        return rule

    return enter


@_rule(ops.Map)
def _map(sizes: Sizes, op: ops.Map, inputs: list[NodeSize]) -> NodeSize:
    """The same number of rows; a computed column has as many values as rows, unless it is a constant."""
    (size,) = inputs
    pairs = [(c.name, e) for c, e in zip(op.columns, op.expressions, strict=True)]
    copied = {name: e.name for name, e in pairs if isinstance(e, exp.Column)}
    computed = {name: 1.0 if is_literal(e) else size.rows for name, e in pairs}
    distinct = computed | {name: size.distinct[old] for name, old in copied.items()}
    origins = {name: size.origins[old] for name, old in copied.items() if old in size.origins}
    names = {old: name for name, old in copied.items()}
    tables = _renamed(size.tables, names) if len(names) == len(copied) else ()
    return NodeSize(size.rows, distinct, origins, tables, size.selection)


@_rule(ops.Filter)
def _filter(sizes: Sizes, op: ops.Filter, inputs: list[NodeSize]) -> NodeSize:
    (size,) = inputs
    for predicate in conjuncts(op.predicate):
        size = sizes.filtered(size, predicate)
    return size


@_rule(ops.Join, ops.Semijoin)
def _join(sizes: Sizes, op: ops.Join, inputs: list[NodeSize]) -> NodeSize:
    first, *others = inputs
    for other in others:
        first = sizes.joined(first, other)
    return first


@_rule(ops.Plus)
def _plus(sizes: Sizes, op: ops.Plus, inputs: list[NodeSize]) -> NodeSize:
    rows = sum(size.rows for size in inputs)
    names = inputs[0].distinct
    return NodeSize(rows, {n: sum(size.distinct[n] for size in inputs) for n in names}, {}).of_rows(rows)


@_rule(ops.Antijoin, ops.Negate, ops.Keep, ops.Window, ops.Top)
def _first(sizes: Sizes, op: ops.Operator, inputs: list[NodeSize]) -> NodeSize:
    """The rows of the first input, as an upper bound."""
    return inputs[0]


@_rule(ops.Distinct)
def _distinct(sizes: Sizes, op: ops.Distinct, inputs: list[NodeSize]) -> NodeSize:
    (size,) = inputs
    return sizes.projected(size, list(size.distinct))


@_rule(ops.Aggregate)
def _aggregate(sizes: Sizes, op: ops.Aggregate, inputs: list[NodeSize]) -> NodeSize:
    groups = sizes.projected(inputs[0], op.keys)
    results = {call.name: groups.rows for call in op.calls}
    return NodeSize(groups.rows, {**groups.distinct, **results}, groups.origins)


# The selectivity of an unknown condition, of an equality with an unknown value, and the least of all.
_SELECTED, _EQUAL, _LEAST = 1 / 3, 1 / 10, 1e-6


def selectivity(predicate: exp.Expression, distinct: Mapping[str, float]) -> float:
    """Return the fraction of rows for which the predicate is true; `distinct` has numbers of values by column."""
    return min(1.0, max(_LEAST, _part(predicate, distinct)))


def _part(predicate: exp.Expression, distinct: Mapping[str, float]) -> float:
    match predicate:
        case exp.Paren():
            return _part(predicate.this, distinct)
        case exp.And():
            return _part(predicate.this, distinct) * _part(predicate.expression, distinct)
        case exp.Or():
            return min(1.0, _part(predicate.this, distinct) + _part(predicate.expression, distinct))
        case exp.Not():
            return 1 - _part(predicate.this, distinct)
        case exp.NEQ():
            return 1 - _equal(predicate, distinct)
        case exp.EQ() | exp.NullSafeEQ() | exp.Is():
            return _equal(predicate, distinct)
    return _SELECTED


def _equal(predicate: exp.Binary, distinct: Mapping[str, float]) -> float:
    """Return the fraction of rows with two equal sides: one value of the column with the most values."""
    sides = (predicate.this, predicate.expression)
    known = [distinct[side.name] for side in sides if isinstance(side, exp.Column) and side.name in distinct]
    return 1 / max(1.0, *known) if known else _EQUAL
