"""Recursions that are not monotone, by name and by what an engine has to do with them.

This catches histories that are not those of iteration from nothing, a rejected or abandoned epoch that leaves a trace,
a state that is read back with less than was written, and reports that tell something else than what was done.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import deltic
from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.constructions import while_changing
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.custom import Apply
from deltic.circuit.tables import from_arrow, to_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.protocol import Engine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import ReferenceEngine
from deltic.engine.refresh import Policy, Refresh
from deltic.errors import IterationLimitError, UnsupportedError
from deltic.values.types import Schema, Type
from tests.conformance.engines import on_shards
from tests.engine.reopening import Reopening
from tests.engine.signed_bodies import BODIES, RANDOM, Row, game, parity, random_body, random_changes, tree

LIMIT = 40
INCREMENTAL = Refresh(Policy.INCREMENTAL)
Changes = dict[str, dict[Row, int]]


def batches(circuit: Circuit, changes: Changes) -> dict[str, pa.Table]:
    schemas = {op.name: op.schema for op in circuit.operators if isinstance(op, ops.Source)}
    return {name: to_arrow(ZSet(rows), schemas[name]) for name, rows in changes.items() if rows}


def views(engine: Engine, circuit: Circuit) -> dict[str, ZSet[Row]]:
    return {name: from_arrow(engine.read(name, counted=True)) for name in circuit.sinks}


def entries(engine: IncrementalEngine) -> dict[str, list[tuple[Any, ...]]]:
    """All histories: rows with iterations and changes of weight that do not cancel; NULL is (), a value (value,)."""
    found = {}
    for name in sorted(engine.program.recursive):
        state, total = engine.executor.running.states[name], dict[tuple[Any, ...], int]()
        for run in state.contents.runs:
            columns = [
                [() if nulls is not None and nulls[i] else (value,) for i, value in enumerate(values.tolist())]
                for values, nulls in state.layout.values(run.words)
            ]
            for *key, weight in zip(*columns, run.times.tolist(), run.all_weights().tolist(), strict=True):
                total[tuple(key)] = total.get(tuple(key), 0) + weight
        found[name] = sorted((key, weight) for key, weight in total.items() if weight)
    return found


def follow(circuit: Circuit, engine: Engine, changes: list[Changes]) -> int:
    """Compare with the reference after each epoch; how many were rejected for want of a fixpoint."""
    reference, rejected = ReferenceEngine(circuit, iteration_limit=LIMIT), 0
    for change in changes:
        found = batches(circuit, change)
        try:
            reference.apply(found, "normalize")
        except IterationLimitError:
            rejected += 1
            with pytest.raises(IterationLimitError, match="has no end"):
                engine.apply(found, "normalize")
        else:
            engine.apply(found, "normalize")
        assert views(engine, circuit) == views(reference, circuit)
    return rejected


@pytest.mark.parametrize("name", BODIES)
def test_by_name(name: str) -> None:
    for seed in range(3):
        rng = random.Random(seed)
        circuit = BODIES[name].make()
        engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT)
        follow(circuit, engine, list(random_changes(rng, BODIES[name].universe, 5)))
        begun = IncrementalEngine(circuit, iteration_limit=LIMIT)
        begun.apply({t: engine.read(t, table=True, counted=True) for t in BODIES[name].universe})
        assert entries(engine) == entries(begun), f"{name}, seed {seed}"


def check_random(seed: int) -> int:
    """A random body over random pairs; how many epochs had no fixpoint."""
    rng = random.Random(seed)
    circuit = random_body(rng)
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT)
    rejected = follow(circuit, engine, list(random_changes(rng, RANDOM, 4, most=5)))
    begun = IncrementalEngine(circuit, iteration_limit=LIMIT)
    begun.apply({t: engine.read(t, table=True, counted=True) for t in engine.program.tables})
    assert entries(engine) == entries(begun), f"seed {seed}\n{circuit}"
    return rejected


def test_random_bodies() -> None:
    assert sum(map(check_random, range(15))) < 30


@pytest.mark.slow
def test_many_random_bodies() -> None:
    for seed in range(100, 300):
        check_random(seed)


def follow_step(b: CircuitBuilder, x: int, parameters: list[int]) -> int:
    """What the edges lead to from x."""
    return b.add(ops.Map(b.type_of(x).schema.columns, (column("y"),)), b.add(ops.Join(), x, *parameters))


def test_while() -> None:
    """Its second relation takes the start away after the first iteration, so that rows wander."""
    builder = CircuitBuilder()
    start = builder.add(ops.Source("node", Schema.of(x=Type.INT64)))
    edges = builder.add(ops.Source("child", Schema.of(x=Type.INT64, y=Type.INT64)))
    builder.add(ops.Sink("v"), while_changing(builder, start, follow_step, edges))
    circuit = builder.build()
    for seed in range(10):
        engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT)
        follow(circuit, engine, list(random_changes(random.Random(seed), BODIES["game"].universe | NODES, 4)))


NODES = {"node": BODIES["tree"].universe["node"]}


def test_a_flatmap_of_a_recursive_relation() -> None:
    body, schema = CircuitBuilder(1), Schema.of(x=Type.INT64, y=Type.INT64)
    edges = body.add(ops.Import(0, ZSetType(schema, is_set=True)))
    span = ops.FlatMap("z", "range", (column("x"), column("y")))
    longer = body.add(span, body.add(ops.Feedback("p", schema)))
    pairs = body.add(ops.Map(schema.columns, (column("x"), column("z"))), longer)
    body.add(ops.Sink("p"), body.add(ops.Distinct(), body.add(ops.Plus(), edges, pairs)))
    builder = CircuitBuilder()
    bundle = builder.add(ops.Fixpoint(body.build()), builder.add(ops.Source("child", schema)))
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("p"), bundle))
    circuit = builder.build()
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    follow(circuit, engine, list(random_changes(random.Random(1), BODIES["game"].universe, 6)))


def test_an_operator_of_a_user() -> None:
    """Of a recursive relation: all its rows are one group."""
    numbers = {"x": "int64"}
    halves = deltic.operator(
        lambda rows: [(x // 2,) for (x,), _ in rows], name="halves", takes=[numbers], gives=numbers
    )
    body, schema = CircuitBuilder(1), Schema.of(x=Type.INT64)
    given = body.add(ops.Import(0, ZSetType(schema, is_set=True)))
    halved = body.add(Apply(halves.entry), body.add(ops.Feedback("p", schema)))
    body.add(ops.Sink("p"), body.add(ops.Distinct(), body.add(ops.Plus(), given, halved)))
    builder = CircuitBuilder()
    bundle = builder.add(ops.Fixpoint(body.build()), builder.add(ops.Source("s", schema)))
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("p"), bundle))
    circuit = builder.build()
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    follow(circuit, engine, [{"s": {(9,): 1, (12,): 1}}, {"s": {(9,): -1, (70,): 1}}, {"s": {(12,): -1}}])


def test_an_aborted_epoch_leaves_no_trace() -> None:
    circuit, universe = tree(), BODIES["tree"].universe
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    for change in random_changes(random.Random(3), universe, 6):
        before = entries(engine), views(engine, circuit)
        with engine.prepare(batches(circuit, change), "normalize"):
            pass
        assert (entries(engine), views(engine, circuit)) == before
        engine.apply(batches(circuit, change), "normalize")


def test_an_epoch_without_a_fixpoint_leaves_no_trace() -> None:
    circuit = game()
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=10)
    engine.apply(batches(circuit, {"child": {(0, 1): 1, (1, 2): 1, (2, 3): 1}}))
    before = entries(engine), views(engine, circuit)
    with pytest.raises(
        IterationLimitError, match=r"through win has no end: .* it is as it was .*; nothing was changed"
    ):
        engine.apply(batches(circuit, {"child": {(3, 1): 1}}))
    assert (entries(engine), views(engine, circuit)) == before


@pytest.mark.parametrize("size", [2, 5, 40])
@pytest.mark.parametrize("thresholds", [DEFAULTS, Thresholds(most_waiting=-1)], ids=["compiled", "vectors"])
def test_what_goes_round_in_circles_is_found_with_its_rows(size: int, thresholds: Thresholds) -> None:
    """A bit that goes round `size` nodes, from which a chain leads that has come to rest before."""
    circuit = parity()
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, thresholds=thresholds)
    chain = {(100 + i, 101 + i): 1 for i in range(90)}
    engine.apply(batches(circuit, {"child": chain, "node": {(100,): 1}}))
    before = entries(engine)
    ring = {(x, (x + 1) % size): 1 for x in range(size)}
    with pytest.raises(IterationLimitError) as caught:
        engine.apply(batches(circuit, {"child": ring, "node": {(0,): 1}}))
    period = 2 * size
    assert f" it is as it was {period} before, and not at rest" in str(caught.value)
    shown = [f"on({x})" for x in range(min(size, 6))]
    listed = f"{', '.join(shown)} and {size - 6} more" if size > 6 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    assert f"In between come and go {listed}." in str(caught.value)
    assert entries(engine) == before


def test_updates_are_abandoned_where_a_bootstrap_is_better() -> None:
    """With a switch of 0 at once; the report says so."""
    circuit = tree()
    engine = IncrementalEngine(circuit, refresh=Refresh(Policy.AUTO, switch=0.0))
    chain = {"node": {(x,): 1 for x in range(9)}, "child": {(x, x + 1): 1 for x in range(8)}}
    engine.apply(batches(circuit, chain))
    (report,) = engine.apply(batches(circuit, {"child": {(4, 5): -1}})).components
    assert (report.strategy, report.action) == ("signed", "bootstrap")
    assert "abandoned" in report.reason
    reference = ReferenceEngine(circuit)
    reference.apply(batches(circuit, chain))
    reference.apply(batches(circuit, {"child": {(4, 5): -1}}))
    assert views(engine, circuit) == views(reference, circuit)


SIZES = {
    "never compiled": Thresholds(most_waiting=-1),
    "left at any change": Thresholds(allowance=1, most_rows=5, rest=0),
    "searches pause at every step": Thresholds(patience=1, rest=0),
    "levels and log fill up": Thresholds(near=4, far=8, most_rows=16, logged=32, handed=3, rest=1),
}


@pytest.mark.parametrize("name", ["tree", "even", "game, in circles", "mutual", "heights", "shortest", "control"])
@pytest.mark.parametrize("thresholds", SIZES.values(), ids=SIZES)
def test_compiled_or_not_the_histories_are_the_same(name: str, thresholds: Thresholds) -> None:
    circuit = BODIES[name].make()
    engines = [
        IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT, thresholds=t)
        for t in (DEFAULTS, thresholds)
    ]
    for change in random_changes(random.Random(8), BODIES[name].universe, 6):
        ends = []
        for engine in engines:
            try:
                engine.apply(batches(circuit, change), "normalize")
                ends.append("")
            except IterationLimitError as error:
                ends.append(str(error))
        assert ends[0] == ends[1]
        assert entries(engines[0]) == entries(engines[1])


@pytest.mark.parametrize("strategy", Strategy)
def test_strategies(strategy: Strategy) -> None:
    """Histories have all iterations, whatever the strategy; `full` computes them anew."""
    circuit = tree()
    engine = IncrementalEngine(circuit, strategy, INCREMENTAL)
    engine.apply(batches(circuit, {"node": {(0,): 1, (1,): 1}}))
    (report,) = engine.apply(batches(circuit, {"child": {(0, 1): 1}})).components
    expected = "bootstrap" if strategy is Strategy.FULL else "update"
    assert (report.strategy, report.action) == ("signed", expected)


@pytest.mark.parametrize("name", ["tree", "shortest", "mutual"])
def test_a_state_that_is_written_and_read_again(name: str) -> None:
    circuit = BODIES[name].make()
    engine = Reopening(circuit, iteration_limit=LIMIT)
    follow(circuit, engine, list(random_changes(random.Random(5), BODIES[name].universe, 6)))


@pytest.mark.parametrize("name", ["tree", "control", "mutual"])
def test_on_shards(name: str) -> None:
    """Histories take rounds, or each shard has its share of them, whose groups are together by the key."""
    circuit = BODIES[name].make()
    engine = on_shards(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT, shards=3)
    assert bool(engine.executor.plan.iterated) is (name != "control")
    assert ("on each shard its share" in str(engine.executor.plan)) is (name == "control")
    follow(circuit, engine, list(random_changes(random.Random(6), BODIES[name].universe, 5)))


def test_a_view_more() -> None:
    """The recursion goes on as it was, and the new view begins with its rows."""
    circuit = tree()
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    changes = list(random_changes(random.Random(7), BODIES["tree"].universe, 4))
    for change in changes[:2]:
        engine.apply(batches(circuit, change), "normalize")
    builder = CircuitBuilder()
    for node in circuit.nodes:
        builder.add(node.operator, *node.inputs)
    kept = circuit.sinks["tree"]
    builder.add(ops.Sink("count"), builder.add(ops.Aggregate((), (ops.AggregateCall("count", "", "n"),)), kept))
    more = builder.build()
    before = entries(engine)
    result = engine.extend(more)
    assert result.extension is not None
    assert "tree by iteration" in result.extension.kept
    assert entries(engine) == before
    reference = ReferenceEngine(more)
    for number, change in enumerate(changes):
        reference.apply(batches(circuit, change), "normalize")
        if number >= 2:
            engine.apply(batches(circuit, change), "normalize")
    assert views(engine, more) == views(reference, more)


def alternating() -> Circuit:
    """Nodes are known, level by level, when no chain reaches them that begins below a node that is not known."""
    schema, pairs = Schema.of(x=Type.INT64), Schema.of(x=Type.INT64, y=Type.INT64)
    inner = CircuitBuilder(2)
    starts = inner.add(ops.Import(0, ZSetType(schema, True, 1)))
    moves = inner.add(ops.Import(1, ZSetType(pairs, True, 1)))
    longer = inner.add(ops.Join(), inner.add(ops.Feedback("reached", schema)), moves)
    ends = inner.add(ops.Map(schema.columns, (column("y"),)), longer)
    inner.add(ops.Sink("reached"), inner.add(ops.Distinct(), inner.add(ops.Plus(), starts, ends)))
    body = CircuitBuilder(1)
    nodes, given = body.add(ops.Import(0, ZSetType(schema, True))), body.add(ops.Import(1, ZSetType(pairs, True)))
    unknown = body.add(ops.Antijoin(), nodes, body.add(ops.Feedback("known", schema)))
    children = body.add(ops.Map(schema.columns, (column("y"),)), body.add(ops.Join(), unknown, given))
    below = body.add(ops.Distinct(), children)
    reached = body.add(ops.BundleRelation("reached"), body.add(ops.Fixpoint(inner.build()), below, given))
    body.add(ops.Sink("known"), body.add(ops.Antijoin(), nodes, reached))
    builder = CircuitBuilder()
    sources = builder.add(ops.Source("node", schema)), builder.add(ops.Source("child", pairs))
    bundle = builder.add(ops.Fixpoint(body.build()), *sources)
    builder.add(ops.Sink("known"), builder.add(ops.BundleRelation("known"), bundle))
    return builder.build()


@pytest.mark.parametrize("moves", ["tree", "tree, acyclic"])
def test_a_recursion_inside_another_under_negation(moves: str) -> None:
    """The rows of the inner one come and go with the iterations of the outer one."""
    circuit = alternating()
    for seed in range(3):
        engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT)
        follow(circuit, engine, list(random_changes(random.Random(seed), BODIES[moves].universe, 6)))
        begun = IncrementalEngine(circuit, iteration_limit=LIMIT)
        begun.apply({t: engine.read(t, table=True, counted=True) for t in ("node", "child")})
        assert entries(engine) == entries(begun)


def test_strict_refuses_a_recursion_inside_a_recursion() -> None:
    with pytest.raises(UnsupportedError, match=r"known: the recursion reached is inside another.*leave `strict` out"):
        IncrementalEngine(alternating(), refresh=Refresh(Policy.INCREMENTAL, strict=True))


def test_explain_of_a_recursion_inside_a_recursion(golden: Callable[[str, str], None]) -> None:
    golden("engine/signed-nested.txt", IncrementalEngine(alternating()).explain("known"))


@pytest.mark.parametrize("name", ["tree", "shortest"])
def test_explain(name: str, golden: Callable[[str, str], None]) -> None:
    """What is kept of each relation of the body, and what is examined."""
    circuit = BODIES[name].make()
    (view,) = circuit.sinks
    golden(f"engine/signed-{name}.txt", IncrementalEngine(circuit).explain(view))
