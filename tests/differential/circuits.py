"""Random well-formed circuits and random streams of changes for their sources.

Everything is drawn from a `random.Random`, so that a seed names a case and hypothesis (`st.randoms`) can shrink one.
A column's name determines its type and its few values: any two relations can be joined, and joins meet. In a `rich`
shape there are columns of more types, extreme values among them, and columns that may be NULL.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, is_not_null, is_null, literal, null
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.oracle.pointwise import Rows
from deltic.values.types import Column, Schema, Type

VALUES: dict[str, tuple[Any, ...]] = {
    "a": (0, 1, 2, 3),
    "b": (0, 1, 2, 3),
    "c": ("", "x", "yy"),
    "d": (0, 1, 2),
}
TYPES = {"a": Type.INT64, "b": Type.INT64, "c": Type.STRING, "d": Type.INT64}
NAMES = tuple(VALUES)
VALUES |= {
    "e": (False, True),
    "f": (0.0, -0.5, math.inf, math.nan),
    "g": (Decimal("-9.99"), Decimal("0.10"), Decimal("9.99")),
    "h": (date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)),
    "i": (-(2**63), -1, 0, 2**63 - 1),
    "j": (0, 1, 2**64 - 1),
    "k": ((), (None,), (0.0, math.nan)),
    "l": (b"", b"\xff", b"a"),
    "m": (-128, 0, 127),
    "n": (Decimal(1 - 10**38), Decimal(0), Decimal(10**38 - 1)),
}
TYPES |= {
    "e": Type.BOOLEAN,
    "f": Type.FLOAT64,
    "g": Type.decimal(3, 2),
    "h": Type.DATE,
    "i": Type.INT64,
    "j": Type.UINT64,
    "k": Type.array(Type.FLOAT64.or_null),
    "l": Type.BINARY,
    "m": Type.INT8,
    "n": Type.decimal(38),
}
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)

Epoch = dict[str, Rows]


@dataclass(frozen=True)
class Shape:
    """What random circuits may contain."""

    operators: int = 8
    bags: bool = True
    """Sources that are bags, or Z-sets with `signed` changes."""
    signed: bool = False
    """Changes of the bags may make weights negative; then only sets enter fixpoints."""
    aggregates: bool = True
    ordered: bool = False
    """Top-k and window functions."""
    fixpoints: int = 2
    """How deep fixpoints may stand inside one another."""
    rich: bool = False
    """Columns of many types, some of which may be NULL."""
    plain_bodies: bool = False
    """Fixpoints import sets only, and their bodies negate nothing: iterations are final."""
    free_bodies: bool = False
    """Bodies have any operator on their feedbacks: rows come and go, and there may be no fixpoint."""


@dataclass
class _Pool:
    """The nodes of a builder that later nodes may read."""

    builder: CircuitBuilder
    rng: random.Random
    shape: Shape
    nodes: list[int] = field(default_factory=list)
    positive: dict[int, bool] = field(default_factory=dict)
    recursive: set[int] = field(default_factory=set)

    def pick(self) -> int:
        """A node, a late one more often than an early one."""
        return self.nodes[max(self.rng.randrange(len(self.nodes)), self.rng.randrange(len(self.nodes)))]

    def put(self, operator: ops.Operator, *inputs: int, positive: bool | None = None) -> int:
        """Add a node; it is positive when its inputs are, unless told, and recursive when one of them is."""
        number = self.builder.add(operator, *inputs)
        if number not in self.positive:
            self.positive[number] = all(self.positive[i] for i in inputs) if positive is None else positive
            if any(i in self.recursive for i in inputs):
                self.recursive.add(number)
        if number not in self.nodes and not isinstance(operator, ops.Fixpoint):
            self.nodes.append(number)
        return number

    def schema(self, number: int) -> Schema:
        return self.builder.type_of(number).schema

    def monotone_with(self, number: int, others: Sequence[int]) -> bool:
        """Whether a multilinear operator over these inputs is monotone in the feedbacks."""
        inputs = [number, *others]
        return self.free or not any(i in self.recursive for i in inputs) or all(self.positive[i] for i in inputs)

    @property
    def free(self) -> bool:
        """Whether any operator may stand on a feedback."""
        return self.shape.free_bodies and self.builder.depth > 0


def random_circuit(rng: random.Random, shape: Shape = Shape()) -> Circuit:
    """A circuit with one to three sources and one to three sinks."""
    pool = _Pool(CircuitBuilder(), rng, shape)
    for i in range(rng.randint(1, 3)):
        is_set = not shape.bags or rng.random() < 0.6
        schema = _schema(rng, rng.choice((1, 2, 2, 3)), shape)
        pool.put(ops.Source(f"s{i}", schema, is_set), positive=is_set or not shape.signed)
    if rng.random() < 0.3:
        schema = _schema(rng, rng.randint(0, 2), shape)
        rows = tuple(sorted({random_row(rng, schema) for _ in range(rng.randint(1, 3))}, key=repr))
        pool.put(ops.Constant(schema, rows), positive=True)
    for _ in range(rng.randint(2, shape.operators)):
        _grow(pool, shape.fixpoints)
    for i in range(rng.randint(1, 3)):
        pool.builder.add(ops.Sink(f"v{i}"), pool.pick())
    return pool.builder.build()


def _schema(rng: random.Random, arity: int, shape: Shape) -> Schema:
    names = rng.sample(sorted(VALUES), arity) if shape.rich else rng.sample(NAMES, arity)
    return Schema(tuple(Column(n, TYPES[n], shape.rich and rng.random() < 0.6) for n in names))


def random_row(rng: random.Random, schema: Schema) -> tuple[Any, ...]:
    """A row of the schema from the values of its columns' names."""
    return tuple(None if c.nullable and rng.random() < 0.3 else rng.choice(VALUES[c.name]) for c in schema)


def _grow(pool: _Pool, fixpoints: int) -> None:
    """Add one random operator with what it needs around it."""
    choices = [_add_map, _add_filter, _add_join, _add_join, _add_antijoin, _add_plus, _add_negate, _add_distinct]
    choices += [_add_aggregate] if pool.shape.aggregates else []
    choices += [_add_top, _add_over] if pool.shape.ordered and (pool.free or not pool.builder.depth) else []
    choices += [_add_antijoin, _add_semijoin, _add_distinct, _add_aggregate, _add_flat_map] if pool.free else []
    if fixpoints and pool.rng.random() < 0.25:
        _add_fixpoint(pool, fixpoints - 1)
    else:
        pool.rng.choice(choices)(pool)


def _add_map(pool: _Pool) -> None:
    source = pool.pick()
    columns = tuple(_schema(pool.rng, pool.rng.choice((0, 1, 1, 2, 2, 3)), pool.shape))
    _put_map(pool, source, columns)


def _put_map(pool: _Pool, source: int, columns: tuple[Column, ...]) -> int:
    """A map of the node to these columns."""
    expressions = tuple(random_expression(pool.rng, c, pool.schema(source)) for c in columns)
    return pool.put(ops.Map.of_defined(columns, expressions, pool.schema(source)), source)


def random_expression(rng: random.Random, wanted: Column, schema: Schema) -> exp.Expression:
    """An expression with values among those of the wanted column, NULL now and then."""
    values = VALUES[wanted.name]
    fitting = [n for n in schema.names if TYPES[n] is wanted.type and (rng.random() < 0.8 or n == wanted.name)]
    if not fitting or rng.random() < 0.1:
        return _constant(rng, values, wanted)
    name = wanted.name if wanted.name in fitting and rng.random() < 0.5 else rng.choice(fitting)
    if wanted.type is not Type.INT64:
        return column(name)
    if rng.random() < 0.6 and set(VALUES[name]) <= set(values):
        return column(name)
    divisor = column(rng.choice(fitting)) if rng.random() < 0.2 else literal(len(values), Type.INT64)
    added = exp.Add(this=column(name), expression=literal(rng.randint(0, 2), Type.INT64))
    bounded = exp.Mod(this=added, expression=divisor)
    return exp.Mod(this=bounded, expression=literal(len(values), Type.INT64))


def _constant(rng: random.Random, values: Sequence[Any], wanted: Column) -> exp.Expression:
    """One of the values but NaN, which no literal is, or NULL; of types without literals always NULL."""
    if wanted.type.is_composite or wanted.type is Type.BINARY or (wanted.nullable and rng.random() < 0.3):
        return null(wanted.type)
    return literal(rng.choice([value for value in values if value == value]), wanted.type)


def _add_filter(pool: _Pool) -> None:
    source = pool.pick()
    if len(pool.schema(source)):
        pool.put(ops.Filter(random_predicate(pool.rng, pool.schema(source))), source)


def random_predicate(rng: random.Random, schema: Schema) -> exp.Expression:
    """A comparison of a column with a literal or with another column of its type."""
    left = rng.choice(schema.columns)
    if left.nullable and rng.random() < 0.3:
        return rng.choice((is_null, is_not_null))(column(left.name))
    others = [c for c in schema if c.type is left.type and c is not left]
    right = column(rng.choice(others).name) if others and rng.random() < 0.4 else None
    right = right or _constant(rng, VALUES[left.name], left)
    kinds = (*COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ) if left.nullable else COMPARISONS
    return rng.choice(kinds)(this=column(left.name), expression=right)


def _add_join(pool: _Pool) -> None:
    inputs = [pool.pick() for _ in range(pool.rng.choice((1, 2, 2, 2, 3)))]
    if pool.monotone_with(inputs[0], inputs[1:]):
        pool.put(ops.Join(), *inputs)


def _add_antijoin(pool: _Pool) -> None:
    left, other = pool.pick(), pool.pick()
    if not pool.free and (other in pool.recursive or (left in pool.recursive and not pool.positive[left])):
        return
    pool.put(ops.Antijoin(), left, _set_within(pool, left, other))


def _add_semijoin(pool: _Pool) -> None:
    left, other = pool.pick(), pool.pick()
    pool.put(ops.Semijoin(), left, _set_within(pool, left, other))


def _set_within(pool: _Pool, left: int, other: int) -> int:
    """The set of a node's values in columns of another one."""
    kept = [c for c in pool.schema(other) if c.name in pool.schema(left).names]
    if len(kept) > 1 and pool.rng.random() < 0.4:
        kept = pool.rng.sample(kept, pool.rng.randint(1, len(kept)))
    if tuple(kept) != pool.schema(other).columns:
        other = pool.put(ops.Map(tuple(kept), tuple(column(c.name) for c in kept)), other)
    return other if pool.builder.type_of(other).is_set else pool.put(ops.Distinct(), other, positive=True)


def _add_flat_map(pool: _Pool) -> None:
    """The numbers from one column's value to another's, where there is room for one more column."""
    source, rng = pool.pick(), pool.rng
    numbers = [c.name for c in pool.schema(source) if c.type is Type.INT64 and c.name in NAMES and not c.nullable]
    free = [n for n in ("a", "b", "d") if n not in pool.schema(source).names]
    if numbers and free:
        name = rng.choice(free)
        bound = exp.Mod(this=column(rng.choice(numbers)), expression=literal(len(VALUES[name]), Type.INT64))
        pool.put(ops.FlatMap(name, "range", (literal(0, Type.INT64), bound)), source)


def _add_plus(pool: _Pool) -> None:
    first = pool.pick()
    others = [_as_schema(pool, pool.pick(), pool.schema(first)) for _ in range(pool.rng.randint(1, 2))]
    if pool.monotone_with(first, others):
        pool.put(ops.Plus(), first, *others)


def _as_schema(pool: _Pool, number: int, schema: Schema) -> int:
    """The node, or a map of it that has the schema."""
    if pool.schema(number) == schema:
        return number
    return _put_map(pool, number, schema.columns)


def _add_negate(pool: _Pool) -> None:
    source = pool.pick()
    inside = pool.builder.depth > 0
    if pool.free or (source not in pool.recursive and not (inside and pool.shape.plain_bodies)):
        pool.put(ops.Negate(), source, positive=False)


def _add_distinct(pool: _Pool) -> None:
    source = pool.pick()
    if pool.free or source not in pool.recursive or pool.positive[source]:
        pool.put(ops.Distinct(), source, positive=True)


def _add_aggregate(pool: _Pool) -> None:
    source = pool.pick()
    columns = pool.schema(source).columns
    if not pool.free and (source in pool.recursive or pool.builder.depth > 1):
        return  # in a body inside a body, what is imported may be recursive
    keys = sorted(pool.rng.sample([c.name for c in columns], pool.rng.randint(0, len(columns))))
    calls = []
    names = [n for n in (TYPES if pool.shape.rich else NAMES) if n not in keys]
    for name in pool.rng.sample(names, pool.rng.randint(0, max(0, 4 - len(keys)))):
        read = [c.name for c in columns if c.type is TYPES[name]]
        functions = ("count", "sum", "min", "max") if TYPES[name] is Type.INT64 else ("min", "max")
        if read:
            calls.append(ops.AggregateCall(pool.rng.choice(functions), pool.rng.choice(read), name))
        elif TYPES[name] is Type.INT64:
            calls.append(ops.AggregateCall("count", "", name))
    pool.put(ops.Aggregate(tuple(keys), tuple(calls)), source, positive=True)


def random_parts(rng: random.Random, schema: Schema) -> tuple[tuple[str, ...], tuple[ops.Order, ...]]:
    """Columns by which rows are partitioned, and an order of those that have one."""
    keys = tuple(rng.sample(schema.names, rng.randint(0, min(2, len(schema)))))
    names = [c.name for c in schema if c.type.is_ordered]
    chosen = rng.sample(names, rng.randint(0, min(3, len(names))))
    return keys, tuple(ops.Order(name, rng.random() < 0.5, rng.random() < 0.5) for name in chosen)


def _add_top(pool: _Pool) -> None:
    source, rng = pool.pick(), pool.rng
    limit, offset = rng.choice((None, 0, 1, 1, 2, 3)), rng.choice((0, 0, 1, 2))
    pool.put(ops.Top(*random_parts(rng, pool.schema(source)), limit, offset), source, positive=True)


def _add_over(pool: _Pool) -> None:
    """A window function whose result goes by the name of a column that is not there yet."""
    source, rng = pool.pick(), pool.rng
    free = [n for n in (TYPES if pool.shape.rich else NAMES) if n not in pool.schema(source).names]
    if not free:
        return
    name = rng.choice(free)
    same = [c.name for c in pool.schema(source) if c.type is TYPES[name]]
    frame = ops.Frame(ops.Unit.ROWS, rng.choice((None, -1, 0)), rng.choice((None, 0, 1)))
    choices = [ops.WindowCall("lag", (n,), name, (1,)) for n in same]
    choices += [ops.WindowCall("last_value", (n,), name, (), frame) for n in same]
    choices += [ops.WindowCall("count", (), name, (), frame)] if TYPES[name] is Type.INT64 else []
    if choices:
        over = ops.Over(*random_parts(rng, pool.schema(source)), (rng.choice(choices),))
        pool.put(over, source, positive=True)


def _add_fixpoint(pool: _Pool, fixpoints: int) -> None:
    imports = [_importable(pool, pool.pick()) for _ in range(pool.rng.randint(1, 3))]
    body = _random_body(pool, imports, fixpoints)
    bundle = pool.put(ops.Fixpoint(body), *imports, positive=True)
    for name in sorted(body.sinks):
        pool.put(ops.BundleRelation(name), bundle, positive=True)


def _importable(pool: _Pool, number: int) -> int:
    is_fitting = pool.shape.free_bodies or (pool.positive[number] and not pool.shape.plain_bodies)
    if pool.builder.type_of(number).is_set or is_fitting:
        return number
    return pool.put(ops.Distinct(), number, positive=True)


def _random_body(outer: _Pool, imports: Sequence[int], fixpoints: int) -> Circuit:
    """A body that is monotone in its one or two feedbacks."""
    pool = _Pool(CircuitBuilder(outer.builder.depth + 1), outer.rng, outer.shape)
    for i, number in enumerate(imports):
        pool.put(ops.Import(i, outer.builder.type_of(number)), positive=True)
    names = ["p", "q"][: pool.rng.choice((1, 1, 2))]
    schemas = {name: pool.schema(pool.pick()) for name in names}
    for name in names:
        pool.recursive.add(pool.put(ops.Feedback(name, schemas[name]), positive=True))
    for _ in range(pool.rng.randint(1, max(2, pool.shape.operators // 2))):
        _grow(pool, fixpoints)
    for name in names:
        pool.builder.add(ops.Sink(name), _union(pool, schemas[name]))
    return pool.builder.build()


def _union(pool: _Pool, schema: Schema) -> int:
    """The set of one to three positive nodes' rows, made to fit the schema."""
    positive = [n for n in pool.nodes if pool.free or pool.positive[n]]
    terms = [_as_schema(pool, pool.rng.choice(positive), schema) for _ in range(pool.rng.randint(1, 3))]
    return pool.builder.add(ops.Distinct(), pool.builder.add(ops.Plus(), *terms))


def sources_of(circuit: Circuit) -> dict[str, ops.Source]:
    """The sources of a circuit by name."""
    return {op.name: op for op in circuit.operators if isinstance(op, ops.Source)}


def random_epochs(rng: random.Random, circuit: Circuit, count: int, signed: bool = False) -> list[Epoch]:
    """Changes of the sources in `count` epochs: sets stay sets, bags stay bags unless `signed`."""
    contents: dict[str, Rows] = {name: ZSet() for name in sources_of(circuit)}
    epochs = []
    for _ in range(count):
        density = rng.choice((0.0, 0.1, 0.3, 0.6, 1.0))
        epoch = {n: _change(rng, op, contents[n], density, signed) for n, op in sources_of(circuit).items()}
        contents = {n: contents[n] + delta for n, delta in epoch.items()}
        epochs.append(epoch)
    return epochs


def _change(rng: random.Random, source: ops.Source, old: Rows, density: float, signed: bool) -> Rows:
    """Delete a part of the old rows and insert new ones, about as many."""
    inserted = [random_row(rng, source.schema) for _ in range(round(6 * density * rng.random()))]
    if source.is_set:
        removed = [row for row, _ in sorted(old, key=repr) if rng.random() < density / 2]
        return ZSet({row: 1 for row in inserted if row not in old} | dict.fromkeys(removed, -1))
    if signed:
        return ZSet((row, rng.choice((-2, -1, 1, 2))) for row in inserted)
    lost = ZSet({row: -rng.randint(0, w) for row, w in sorted(old, key=repr) if rng.random() < density})
    return lost + ZSet((row, rng.randint(1, 2)) for row in inserted)


def integrals(epochs: Sequence[Mapping[str, Rows]]) -> Iterator[Epoch]:
    """I: the contents of the sources after each epoch [DBSP Def. 3.27]."""
    total: Epoch = {}
    for epoch in epochs:
        total = {**total, **{name: total.get(name, ZSet()) + delta for name, delta in epoch.items()}}
        yield total
