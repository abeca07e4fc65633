"""Every row of the derivative table is an identity: Q^Δ = D ∘ ↑Q ∘ I [DBSP Def. 4.1].

Each operator stands in small circuits over two bags x(a, b), y(b, c) with signed weights and two sets s(a, b), t(b);
a wrong sign, a dropped term or a confusion of old and new values shows in the first epochs of a random stream.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.calculus import DERIVATIVES
from deltic.calculus.recursion import naive, semi_naive
from deltic.circuit import operators as ops
from deltic.circuit.custom import CustomOperator
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.custom import Maintain
from deltic.values.types import Column, Schema, Type
from tests.calculus.nested import NestedInterpreter
from tests.calculus.streams import check
from tests.differential.circuits import VALUES, sources_of

AB = Schema.of(a=Type.INT64, b=Type.INT64)
BC = Schema.of(b=Type.INT64, c=Type.STRING)
A, B = Schema.of(a=Type.INT64), Schema.of(b=Type.INT64)
SOURCES = {
    "x": ops.Source("x", AB, is_set=False),
    "y": ops.Source("y", BC, is_set=False),
    "s": ops.Source("s", AB),
    "t": ops.Source("t", B),
}
QUOTIENT = exp.IntDiv(this=column("a"), expression=column("b"))


def circuit(operator: ops.Operator, *inputs: str) -> Circuit:
    """The operator over these sources."""
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(operator, *(builder.add(SOURCES[name]) for name in inputs)))
    return builder.build()


def aggregate(keys: str, **columns: str) -> ops.Aggregate:
    """Functions of columns, by these keys, each a letter."""
    return ops.Aggregate(tuple(keys), tuple(ops.AggregateCall(f, c, f) for f, c in columns.items()))


def over(keys: str, order: str, *calls: ops.WindowCall) -> ops.Over:
    """Window functions by these keys, in this order, each a letter."""
    return ops.Over(tuple(keys), tuple(map(ops.Order, order)), calls)


def of_themselves(window: ops.Window, rows: str) -> Circuit:
    """The window of these rows, the latest of which is the time."""
    builder = CircuitBuilder()
    source = builder.add(SOURCES[rows])
    timestamps = builder.add(ops.Map((Column("now", Type.INT64),), (column(window.column),)), source)
    builder.add(ops.Sink("v"), builder.add(window, source, timestamps))
    return builder.build()


def paths() -> Circuit:
    """The body of the transitive closure of its import, as pairs (a, b)."""
    builder = CircuitBuilder(1)
    edges = builder.add(ops.Import(0, ZSetType(AB, is_set=True)))
    following = builder.add(ops.Map(Schema.of(b=Type.INT64, e=Type.INT64).columns, (column("a"), column("b"))), edges)
    longer = builder.add(ops.Join(), builder.add(ops.Feedback("p", AB)), following)
    ends = builder.add(ops.Map(AB.columns, (column("a"), column("e"))), longer)
    builder.add(ops.Sink("p"), builder.add(ops.Distinct(), builder.add(ops.Plus(), edges, ends)))
    return builder.build()


def closure() -> Circuit:
    """The transitive closure of s."""
    builder = CircuitBuilder()
    bundle = builder.add(ops.Fixpoint(paths()), builder.add(SOURCES["s"]))
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("p"), bundle))
    return builder.build()


def agreeing(x, y):
    """Pairs of rows of x and y that agree in b, as (a, c)."""
    return ZSet([((a, c), v * w) for (a, b), v in x for (d, c), w in y if b == d])


AGREEING = CustomOperator(
    "agreeing",
    agreeing,
    (AB, BC),
    Schema.of(a=Type.INT64, c=Type.STRING),
    derivative=lambda x, y: agreeing(x.delta, y.old) + agreeing(x.new, y.delta),
)

CASES: dict[type[ops.Operator], list[Circuit]] = {
    ops.Source: [circuit(SOURCES["x"]), circuit(SOURCES["s"])],
    ops.Constant: [circuit(ops.Constant(AB, ((1, 2), (0, 0)))), circuit(ops.Constant(Schema(()), ((),)))],
    ops.Map: [
        circuit(ops.Map(A.columns, (column("a"),)), "x"),
        circuit(ops.Map((), ()), "x"),
        circuit(ops.Map(A.columns, (QUOTIENT,), partial=True), "x"),
        circuit(ops.Map((Column("a", Type.INT64, nullable=True),), (QUOTIENT,)), "x"),
    ],
    ops.Filter: [
        circuit(ops.Filter(exp.LT(this=column("a"), expression=column("b"))), "x"),
        circuit(ops.Filter(exp.EQ(this=QUOTIENT, expression=literal(1, Type.INT64))), "x"),
    ],
    ops.FlatMap: [
        circuit(ops.FlatMap("e", "range", (column("a"), column("b"))), "x"),
        circuit(ops.FlatMap("e", "range", (column("b"), literal(0, Type.INT64), literal(-2, Type.INT64))), "s"),
        circuit(ops.FlatMap("e", "string_split", (column("c"), literal("y", Type.STRING))), "y"),
    ],
    Maintain: [circuit(Maintain(AGREEING.entry), "x", "y"), circuit(Maintain(AGREEING.entry), "s", "y")],
    ops.Window: [
        circuit(ops.Window("a", 1), "x", "t"),
        circuit(ops.Window("b", 0), "s", "t"),
        of_themselves(ops.Window("a", 1), "x"),
    ],
    ops.Plus: [circuit(ops.Plus(), "x"), circuit(ops.Plus(), "x", "s"), circuit(ops.Plus(), "x", "x", "s")],
    ops.Negate: [circuit(ops.Negate(), "x")],
    ops.Join: [
        circuit(ops.Join(), "x"),
        circuit(ops.Join(), "x", "y"),
        circuit(ops.Join(), "x", "x"),
        circuit(ops.Join(), "x", "y", "s", "t"),
        circuit(ops.Join(), "t", "y", "t", "x"),
    ],
    ops.Semijoin: [circuit(ops.Semijoin(), *pair) for pair in (("x", "t"), ("s", "s"), ("x", "s"))],
    ops.Keep: [circuit(ops.Keep("kept"), "x"), circuit(ops.Keep("kept"), "s")],
    ops.Antijoin: [
        circuit(ops.Antijoin(), "x", "t"),
        circuit(ops.Antijoin(), "x", "s"),
        circuit(ops.Antijoin(), "s", "s"),
    ],
    ops.Distinct: [circuit(ops.Distinct(), "x"), circuit(ops.Distinct(), "s")],
    ops.Aggregate: [
        circuit(aggregate("a", count="", sum="b"), "x"),
        circuit(aggregate("b", min="a", max="a", mean="a"), "x"),
        circuit(aggregate("", count="", min="b", sum="b"), "x"),
        circuit(aggregate("c", max="c", min="b"), "y"),
        circuit(aggregate("a"), "s"),
    ],
    ops.Top: [
        circuit(ops.Top(("a",), (ops.Order("b", descending=True),), 2), "x"),
        circuit(ops.Top((), (ops.Order("b"),), 1, 1), "x"),
        circuit(ops.Top((), (), None, 2), "s"),
    ],
    ops.Over: [
        circuit(over("a", "b", ops.WindowCall("row_number", (), "n"), ops.WindowCall("lag", ("b",), "l", (1,))), "x"),
        circuit(over("", "b", ops.WindowCall("sum", ("a",), "t", (), ops.Frame(ops.Unit.ROWS, -1, 1))), "x"),
        circuit(over("c", "", ops.WindowCall("count", (), "n", (), ops.Frame(ops.Unit.ROWS, None, None))), "y"),
    ],
    ops.Fixpoint: [closure()],
    ops.BundleRelation: [closure()],
    ops.Import: [closure()],
    ops.Feedback: [closure()],
    ops.Bracket: [semi_naive(naive(closure()))],
    ops.Sink: [circuit(SOURCES["y"])],
}
NAMED = {c: f"{op.keyword}-{i}" for op, cases in CASES.items() for i, c in enumerate(cases)}
PAIRS = [pytest.param(c, id=name) for c, name in NAMED.items()]


def streams(of: Circuit) -> st.SearchStrategy[list[dict[str, ZSet]]]:
    """Streams of changes of the circuit's sources: any Z-sets for bags, the differences of sets for sets."""
    sources = sources_of(of).values()
    values = {op.name: _sets(op) if op.is_set else _zsets(op) for op in sources}
    epochs = st.lists(st.fixed_dictionaries(values), min_size=1, max_size=6)
    return epochs.map(lambda stream: _differentiated(stream, {op.name for op in sources if op.is_set}))


def _rows(source: ops.Source) -> st.SearchStrategy[tuple]:
    return st.tuples(*(st.sampled_from(VALUES[name]) for name in source.schema.names))


def _sets(source: ops.Source) -> st.SearchStrategy[ZSet]:
    return st.frozensets(_rows(source), max_size=6).map(ZSet.of)


def _zsets(source: ops.Source) -> st.SearchStrategy[ZSet]:
    return st.dictionaries(_rows(source), st.integers(-3, 3), max_size=5).map(ZSet)


def _differentiated(stream: list[dict[str, ZSet]], sets: set[str]) -> list[dict[str, ZSet]]:
    """D on the streams of sets; the others are changes already."""
    past = [dict.fromkeys(sets, ZSet()), *stream]
    return [
        {name: value - old[name] if name in sets else value for name, value in new.items()}
        for old, new in zip(past, stream, strict=False)
    ]


@pytest.mark.parametrize("of", PAIRS)
@given(data=st.data())
def test_derivative_is_differentiate_after_query_after_integrate(of, data):
    check(of, data.draw(streams(of)))


@given(data=st.data())
def test_derivative_of_a_fixpoint_as_a_nested_stream(data):
    check(closure(), data.draw(streams(closure())), NestedInterpreter)


def test_every_row_cites_its_formula_and_source():
    for row in DERIVATIVES.values():
        assert row.formula
        assert row.source.startswith("DBSP ")
