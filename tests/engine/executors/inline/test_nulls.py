"""NULL and every type in the local engine, against the reference: in small steps, in one big one, and all taken back.

Catches NULL that is read as a value or raises, an equality of SQL that loses its IS NOT NULL where two columns become
one variable, a natural join that is not null-safe, extremes that have no place beside NULL, and values that come back
changed.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, is_not_null, is_null, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.engine.engine import IncrementalEngine
from deltic.values.types import Column, Schema, Type
from tests.conformance.engines import Driver
from tests.differential.compare import first_disagreement
from tests.engine.operators.test_scalar import VALUES

NUMBER, TEXT = Type.INT64.or_null, Type.STRING.or_null
A = Schema.of(x=NUMBER, t=TEXT)
B = Schema.of(x=Type.INT64, y=NUMBER)
EXTREMES = (None, 0, 1, -1, 2**63 - 1, -(2**63))
VIEWS = {
    "copy": lambda b, a, c: a,
    "projection": lambda b, a, c: projected(b, a, x="x"),
    "natural join": lambda b, a, c: b.add(ops.Join(), a, c),
    "natural join of nullable columns": lambda b, a, c: b.add(ops.Join(), projected(b, a, y="x", t="t"), c),
    "join on a sum": lambda b, a, c: b.add(ops.Join(), b.add(plus_one("y"), a), c),
    "antijoin": lambda b, a, c: b.add(ops.Antijoin(), c, b.add(ops.Distinct(), projected(b, a, y="x"))),
    "antijoin on a sum": lambda b, a, c: b.add(ops.Antijoin(), c, b.add(ops.Distinct(), b.add(plus_one("y"), a))),
    "negated sum": lambda b, a, c: b.add(
        ops.Antijoin(), b.add(plus_one("y"), a), b.add(ops.Distinct(), projected(b, c, y="y"))
    ),
}
CONDITIONS = {
    "equal": exp.EQ(this=column("z"), expression=column("y")),
    "null-safe equal": exp.NullSafeEQ(this=column("z"), expression=column("y")),
    "distinct": exp.NullSafeNEQ(this=column("z"), expression=column("y")),
    "equal to one that is never NULL": exp.EQ(this=column("z"), expression=column("x")),
    "less": exp.LT(this=column("z"), expression=column("y")),
    "equal to a sum": exp.EQ(this=column("z"), expression=exp.Add(this=column("y"), expression=literal(1, Type.INT64))),
    "null": is_null(column("z")),
    "not null": is_not_null(column("y")),
    "either": exp.Or(this=is_null(column("z")), expression=exp.EQ(this=column("z"), expression=column("y"))),
}


def projected(builder: CircuitBuilder, node: int, **columns: str) -> int:
    """Columns of a node by other names."""
    types = builder.type_of(node).schema.value_types
    new = tuple(Column(name, types[old].type, types[old].nullable) for name, old in columns.items())
    return builder.add(ops.Map(new, tuple(map(column, columns.values()))), node)


def plus_one(name: str) -> ops.Map:
    """x + 1, NULL where x is."""
    return ops.Map((Column(name, Type.INT64, True),), (exp.Add(this=column("x"), expression=literal(1, Type.INT64)),))


def circuit(view) -> Circuit:
    """A set that is made of two tables."""
    builder = CircuitBuilder()
    sources = [builder.add(ops.Source(name, schema, is_set=True)) for name, schema in (("a", A), ("b", B))]
    builder.add(ops.Sink("v"), builder.add(ops.Distinct(), view(builder, *sources)))
    return builder.build()


def contents(rng: random.Random, epochs: int) -> list[dict[str, frozenset]]:
    """Contents of the two tables, in the end none."""

    def rows(schema: Schema) -> frozenset:
        values = [EXTREMES if c.type is Type.INT64 else (None, "", "x") for c in schema]
        chosen = [[v for v in vs if v is not None or c.nullable] for vs, c in zip(values, schema, strict=True)]
        return frozenset(tuple(rng.choice(v) for v in chosen) for _ in range(rng.randint(0, 6)))

    return [*({"a": rows(A), "b": rows(B)} for _ in range(epochs)), {"a": frozenset(), "b": frozenset()}]


@pytest.mark.parametrize("view", VIEWS)
def test_keys_are_compared_null_safely(view):
    for seed in range(4):
        assert first_disagreement(circuit(VIEWS[view]), contents(random.Random(seed), 4)) is None


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_follow_three_valued_logic(name):
    def view(builder: CircuitBuilder, a: int, b: int) -> int:
        joined = builder.add(ops.Join(), projected(builder, a, z="x", t="t"), b)
        return builder.add(ops.Filter(CONDITIONS[name]), joined)

    for seed in range(4):
        assert first_disagreement(circuit(view), contents(random.Random(seed), 4)) is None


def test_a_nullable_recursion():
    builder = CircuitBuilder()
    edges = builder.add(ops.Source("e", Schema.of(x=NUMBER, y=NUMBER), is_set=True))
    body = CircuitBuilder(1)
    given, known = (
        body.add(ops.Import(0, builder.type_of(edges))),
        body.add(ops.Feedback("p", Schema.of(x=NUMBER, y=NUMBER))),
    )
    steps = body.add(ops.Join(), projected(body, known, x="x", z="y"), projected(body, given, z="x", y="y"))
    both = body.add(ops.Plus(), given, projected(body, steps, x="x", y="y"))
    body.add(ops.Sink("p"), body.add(ops.Distinct(), both))
    bundle = builder.add(ops.Fixpoint(body.build()), edges)
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("p"), bundle))
    for seed in range(6):
        rng = random.Random(seed)
        run = [{"e": frozenset((rng.choice(EXTREMES), rng.choice(EXTREMES)) for _ in range(5))} for _ in range(4)]
        assert first_disagreement(builder.build(), run) is None


def table(type_: Type) -> Circuit:
    """A view of a table of two columns of a type, one of them nullable, and its least and greatest values."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("a", Schema.of(x=type_.or_null, y=type_), is_set=True))
    builder.add(ops.Sink("copy"), source)
    equal = exp.EQ(this=column("x"), expression=column("y"))
    builder.add(ops.Sink("equal"), builder.add(ops.Filter(equal), source))
    if type_.is_ordered:
        calls = [ops.AggregateCall(f, c, f"{f}_{c}") for f in ("min", "max", "count") for c in "xy"]
        builder.add(ops.Sink("least"), builder.add(ops.Aggregate((), tuple(calls)), source))
        if type_.is_numeric:
            sums = [ops.AggregateCall(f, c, f"{f}_{c}") for f in ("sum", "mean") for c in "xy"]
            builder.add(ops.Sink("sums"), builder.add(ops.Aggregate(("y",), tuple(sums)), source))
            builder.add(ops.Sink("total"), builder.add(ops.Aggregate((), tuple(sums)), source))
        builder.add(ops.Sink("grouped"), builder.add(ops.Aggregate(("x",), tuple(calls[1::2])), source))
    return builder.build()


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_values_of_every_type_with_null(type_):
    rng = random.Random(str(type_))
    every = [(x, y) for x in (None, *VALUES[type_]) for y in VALUES[type_]]
    run = [{"a": frozenset(rng.sample(every, rng.randint(0, len(every))))} for _ in range(4)]
    assert first_disagreement(table(type_), [*run, {"a": frozenset(every)}, {"a": frozenset()}]) is None
    assert first_disagreement(table(type_), [{"a": frozenset(every)}]) is None


def test_null_is_looked_up_and_shown_in_errors():
    built = circuit(VIEWS["copy"])
    driver = Driver(IncrementalEngine(built), built)
    driver.apply({"a": [((None, "x"), 1), ((1, None), 1), ((None, None), 1)]})
    assert driver.lookup("v", x=None) == {(None, "x"), (None, None)}
    assert driver.lookup("v", x=None, t="x") == {(None, "x")}
    assert driver.lookup("v", x=7) == set()
    with pytest.raises(Exception, match=r"\(NULL, 'x'\)"):
        driver.apply({"a": [((None, "x"), 1)]})


def test_what_was_wrong():
    """These gave [-2^63, 1, 3], raised IndexError, and lost the row."""
    built = circuit(VIEWS["copy"])
    driver = Driver(IncrementalEngine(built), built)
    driver.apply({"a": [((n, None), 1) for n in (1, None, 3)]})
    assert sorted(driver.engine.read("v").column("x").to_pylist(), key=str) == [1, 3, None]
    assert driver.engine.read("v").column("t").equals(pa.chunked_array([pa.nulls(3, pa.string())]))
    built = circuit(lambda b, a, c: b.add(plus_one("y"), a))
    driver = Driver(IncrementalEngine(built), built)
    driver.apply({"a": [((None, "x"), 1)]})
    assert driver.rows("v") == {(None,)}
