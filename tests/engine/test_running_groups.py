"""Aggregates inside recursions, at random, told from totals by iteration.

This catches a total, an extreme or a number of values that is not that of its iteration, totals that an update leaves
behind, compiled code that differs from vectors, and an explanation that tells another way than the one taken.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from sqlglot import exp

import deltic
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.recursion.compiled_loop import CompiledLoop
from deltic.values.types import Column, Schema, Type
from tests.engine.signed_bodies import Body, Row
from tests.engine.test_signed import INCREMENTAL, LIMIT, SIZES, Changes, batches, entries, follow

NUMBERS: Mapping[str, tuple[Type, bool, list[str]]] = {
    "integers": (Type.INT64, False, ["count", "sum", "min", "max", "count_distinct"]),
    "integers or NULL": (Type.INT64, True, ["count", "sum", "max"]),
    "extremes or NULL": (Type.INT32, True, ["min", "max"]),
}


def folded(rng: random.Random, kind: str) -> Circuit:
    """Two aggregates of what a node is given and of what its successors have, each below 5; by node, or of all."""
    type_, nullable, functions = NUMBERS[kind]
    b, numbers = Body(), {name: Column(name, type_, nullable) for name in "acw"}
    x, y = Column("x", Type.INT64), Column("y", Type.INT64)
    b.tables = {"edge": Schema((x, y)), "given": Schema((x, numbers["w"]))}
    edge, given = (b.builder.add(ops.Import(i, ZSetType(s, is_set=True))) for i, s in enumerate(b.tables.values()))
    value = Schema((x, numbers["a"], numbers["c"]))
    v = b.builder.add(ops.Feedback("v", value))
    moved = b.builder.add(ops.Map((y, *value.columns[1:]), (column("x"), column("a"), column("c"))), v)
    step = b.builder.add(ops.Map(value.columns, tuple(map(column, "xca"))), b.join(moved, edge))
    start = b.builder.add(ops.Map(value.columns, (column("x"), column("w"), column("w"))), given)
    keys = rng.choice([("x",), ("x",), ()])
    calls = tuple(ops.AggregateCall(rng.choice(functions), read, name) for read, name in zip("ac", "ac", strict=True))
    found = b.builder.add(ops.Aggregate(keys, calls), b.plus(start, step))
    if not keys:
        found = b.join(b.map(edge, x="x"), found)
    zero, five = literal(0, type_), literal(5, type_)
    parts: list[exp.Expression] = [exp.Mod(this=column(name), expression=five.copy()) for name in "ac"]
    if not nullable:
        parts = [exp.Coalesce(this=part, expressions=[zero.copy()]) for part in parts]
    return b.circuit(v=b.distinct(b.builder.add(ops.Map(value.columns, (column("x"), *parts)), found)))


def some_changes(rng: random.Random, kind: str) -> list[Changes]:
    """Five changes of the tables, over at most five nodes."""
    nodes, numbers = range(rng.randint(2, 5)), [None, 1, 2, 7] if NUMBERS[kind][1] else [0, 1, 2, 7]
    pairs: list[Row] = [(x, y) for x in nodes for y in nodes if x < y or rng.random() < 0.2]
    possible = {"edge": pairs, "given": [(x, w) for x in nodes for w in numbers]}
    there: dict[str, set[Row]] = {name: set() for name in possible}
    found = []
    for _ in range(5):
        moved = {name: [row for row in rows if rng.random() < 0.3] for name, rows in possible.items()}
        found.append({name: {row: -1 if row in there[name] else 1 for row in rows} for name, rows in moved.items()})
        for name, rows in moved.items():
            there[name] ^= set(rows)
    return found


def check_folded(seed: int, kind: str, thresholds: Thresholds) -> None:
    """Five epochs of random changes: views as the reference has them, histories as a start from nothing has them."""
    rng = random.Random(seed)
    circuit = folded(rng, kind)
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT, thresholds=thresholds)
    follow(circuit, engine, some_changes(rng, kind))
    begun = IncrementalEngine(circuit, iteration_limit=LIMIT, thresholds=thresholds)
    begun.apply({t: engine.read(t, table=True, counted=True) for t in engine.program.tables})
    assert entries(engine) == entries(begun), f"{kind}, seed {seed}"


@pytest.mark.parametrize("kind", NUMBERS)
def test_random_aggregates(kind: str) -> None:
    for seed in range(6):
        check_folded(seed, kind, list(SIZES.values())[seed % len(SIZES)] if seed % 2 else DEFAULTS)
    for seed in (11, 25):  # an extreme goes where a better one comes
        check_folded(seed, kind, SIZES["never compiled"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("thresholds", [DEFAULTS, *SIZES.values()], ids=["as it is", *SIZES])
def test_many_random_aggregates(kind: str, thresholds: Thresholds) -> None:
    for seed in range(100, 130):
        check_folded(seed, kind, thresholds)


MEANS = """
.decl edge(x: number, y: number)
.decl given(x: number, w: float)
.decl score(x: number, s: float)
.input edge, given
.output score
score(x, s) :- given(x, _), s = mean w : { given(x, w) ; edge(x, y), score(y, w) }.
"""


def test_means_of_floats() -> None:
    """Exact sums of floats are totals, too; compiled code does not know them."""
    pipeline, rng = (
        deltic.Pipeline(engine="local", maintenance=deltic.Maintenance(refresh="incremental")),
        random.Random(1),
    )
    pipeline.datalog(MEANS)
    assert " = mean: from its total before an iteration" in pipeline.explain("score", full=True)
    edges: set[Row] = set()
    given: set[Row] = set()
    for _ in range(6):
        with pipeline.transaction() as change:
            for rows, name, all_rows in (
                (edges, "edge", [(x, y) for y in range(5) for x in range(y)]),
                (given, "given", [(x, w) for x in range(5) for w in (0.1, 2.5)]),
            ):
                moved = {row for row in all_rows if rng.random() < 0.3}
                change.delete(name, sorted(moved & rows))
                change.insert(name, sorted(moved - rows))
                rows ^= moved
        scores: dict[int, float] = {}
        for x in reversed(range(5)):
            own = {w for node, w in given if node == x} | {scores[b] for a, b in edges if a == x and b in scores}
            if any(node == x for node, _ in given):
                scores[x] = sum(own) / len(own)
        found = {row["x"]: row["s"] for row in pipeline["score"].to_arrow().to_pylist()}
        assert found == pytest.approx(scores)


def test_what_reads_whole_groups_is_told() -> None:
    circuit = folded(random.Random(3), "integers or NULL")
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    shown = engine.explain("v", full=True)
    is_whole = "max" in str(circuit)
    assert ("the whole history of a group is read" in shown) == is_whole


@pytest.mark.parametrize("kind", ["integers", "extremes or NULL"])
def test_aggregates_of_whole_numbers_are_compiled(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    follow_compiled, calls = CompiledLoop.run, list[int]()

    def counted(*given: Any) -> int:
        calls.append(1)
        return follow_compiled(*given)

    monkeypatch.setattr(CompiledLoop, "run", counted)
    circuit = folded(random.Random(1), kind)
    IncrementalEngine(circuit, refresh=INCREMENTAL).apply(batches(circuit, {"given": {(0, 1): 1}}))
    assert calls
