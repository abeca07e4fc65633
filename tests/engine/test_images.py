"""What an engine writes down, and continues with, is all that it knows.

Random circuits of all operators, programs and changes of them, in an engine that is written and read between every two
epochs, beside the reference. Catches state that is kept outside of the image, domains that two columns share and no
longer do, layouts and orders of text that come back as others, and runs that are read wrongly.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltic.calculus.planning import COSTS
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check as check_program
from deltic.datalog import lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.plan.plans import Plans
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.errors import CircuitError
from tests.conformance.programs import CLOSURE
from tests.differential.cases import Case
from tests.differential.circuits import Shape, random_circuit, random_epochs
from tests.differential.compare import ReferenceFailed, first_disagreement, first_disagreement_on
from tests.differential.test_evolution import check
from tests.differential.test_over import random_over
from tests.differential.test_top import random_top
from tests.differential.test_windows import delay, difference, flat_map, window, with_windows
from tests.engine.reopening import Reopening, saved

SHAPE = Shape(operators=10, bags=False, fixpoints=1, plain_bodies=True)
SHAPES = {
    "sets": SHAPE,
    "rich": Shape(fixpoints=1, plain_bodies=True, rich=True),
    "ordered": Shape(ordered=True, rich=True, fixpoints=1, plain_bodies=True),
}
STRATEGIES = {
    "nested": partial(Reopening, refresh=Refresh(Policy.INCREMENTAL)),
    "elastic": partial(Reopening, strategy=Strategy.ELASTIC, refresh=Refresh(Policy.INCREMENTAL)),
    "full": partial(Reopening, strategy=Strategy.FULL),
}


def agree(circuit, rng, make=Reopening, epochs=5):
    run = [(epoch, "error") for epoch in random_epochs(rng, circuit, epochs)]
    try:
        found = first_disagreement_on(circuit, run, make)
    except ReferenceFailed:  # a sum that does not fit into its type
        return
    assert found is None, f"{circuit}\n{run}\n{found}"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", SHAPES)
def test_random_circuits(shape, seed):
    rng = random.Random(seed)
    agree(random_circuit(rng, SHAPES[shape]), rng)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("draw", [random_top, random_over])
def test_orders_and_windows(draw, seed):
    rng = random.Random(seed)
    agree(drawn(draw, rng), rng)


def drawn(draw, rng):
    """The first circuit that is one."""
    while True:
        try:
            return draw(rng)
        except CircuitError:
            continue


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_programs(strategy, seed):
    case = Case.random(seed)
    found = first_disagreement(case.circuit(), case.run, STRATEGIES[strategy])
    assert found is None, found


@pytest.mark.parametrize("strategy", Strategy)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32))
def test_definitions_that_change(strategy, seed):
    rng = random.Random(seed)
    check(rng, lambda: random_circuit(rng, SHAPE), strategy, Refresh(), Reopening)


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_windows_delays_and_flatmaps(seed):
    rng, shape = random.Random(seed), replace(SHAPE, operators=6)
    choices = (window, window, flat_map, delay, difference)
    check(rng, lambda: with_windows(rng, random_circuit(rng, shape), choices), Strategy.NESTED, Refresh(), Reopening)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_random_circuits(seed):
    rng = random.Random(seed)
    for shape in SHAPES.values():
        agree(random_circuit(rng, shape), rng)
    for draw in (random_top, random_over):
        agree(drawn(draw, rng), rng)


PLANNED = """
.decl e(x: number, y: number)
.decl i(x: number)
.decl o(x: number)
.decl two(x: number)
.input e
.input i
o(x) :- i(x), e(a, a), e(b, _).
two(x) :- e(x, y), e(y, z)."""


def rows(*columns, weight=1):
    return pa.table({**dict(zip("xy", columns, strict=False)), WEIGHT: [weight] * len(columns[0])})


def test_a_plan_is_kept_with_what_it_was_made_for():
    circuit = lower(check_program([parse(PLANNED)]))
    costs = Plans(costs=replace(COSTS, least=10.0))
    engine, plain = IncrementalEngine(circuit, plans=costs), IncrementalEngine(circuit)
    hub = rows([0] * 300 + list(range(1, 301)), list(range(1, 301)) + [0] * 300)
    for each in (engine, plain):
        each.apply({"e": hub, "i": rows(range(150))})
    again = IncrementalEngine(circuit, plans=costs)
    again.restore(saved(engine.capture()))
    assert again.executor.running.plans == engine.executor.running.plans != costs
    assert again.program.relations.keys() == engine.program.relations.keys()
    assert engine.executor.running.plans.decisions
    assert list(again.executor.store.listed()) == list(engine.executor.store.listed())
    for change in ({"e": rows([7], [7])}, {"e": rows([0, 7], [1, 7], weight=-1)}, {"i": rows([1000])}):
        results = [each.apply(change) for each in (engine, again, plain)]
        assert results[0].rows_visited == results[1].rows_visited
        assert len({tuple(sorted(r.changes.counts().items())) for r in results}) == 1


def test_what_recursions_know_of_costs_is_kept():
    circuit = lower(check_program([parse(CLOSURE)]))
    engine, again = IncrementalEngine(circuit), IncrementalEngine(circuit)
    engine.apply({"e": rows(range(200), range(1, 201))})
    engine.apply({"e": rows([1000], [0])})
    again.restore(saved(engine.capture()))
    assert again.executor.running.histories.written() == engine.executor.running.histories.written()
    assert engine.executor.running.histories.written()[0]["coefficients"]


def test_nothing_is_read_before_it_is_used():
    text = ".decl t(s: symbol, n: number)\n.input t\n.decl big(s: symbol)\nbig(s) :- t(s, n), n > 5."
    circuit = lower(check_program([parse(text)]))
    engine, again = IncrementalEngine(circuit), IncrementalEngine(circuit)
    batch = pa.table({"s": [f"text {n}" for n in range(20)], "n": list(range(20)), WEIGHT: [1] * 20})
    engine.apply({"t": batch})
    image = saved(engine.capture())
    unread = replace(
        image, pieces=[Unread(p.about) for p in image.pieces], growing={n: [Unread({})] for n in image.growing}
    )
    again.restore(unread)
    assert again.epoch == 1
    with pytest.raises(AssertionError, match="read too early"):
        again.read("big")


class Unread:
    """What must not be asked for."""

    def __init__(self, about):
        self.about = about

    def arrays(self):
        raise AssertionError("read too early")


def test_relations_that_are_others_now_are_built():
    one = lower(check_program([parse(CLOSURE)]))
    other = lower(check_program([parse(CLOSURE + "p(x, x) :- e(x, _).")]))
    engine, again = IncrementalEngine(one), IncrementalEngine(other)
    engine.apply({"e": rows([1, 2], [2, 3])})
    again.restore(saved(engine.capture()))
    expected = IncrementalEngine(other)
    expected.apply({"e": rows([1, 2], [2, 3])})
    assert again.read("p").sort_by([("x", "ascending"), ("y", "ascending")]) == expected.read("p").sort_by(
        [("x", "ascending"), ("y", "ascending")]
    )
    assert again.apply({"e": rows([3], [4])}).changes.counts() == expected.apply({"e": rows([3], [4])}).changes.counts()
