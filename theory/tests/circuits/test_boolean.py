"""Every row of the Boolean table is a derivative: f(a ⊕ δ) = f(a) ⊕ f′(a, δ) [FIX Def. 1], with ⊕ of the algebra's L⋈.

Changes may add what is there and remove what is not. Catches a loss that another derivation makes up for, a gain that
is computed from old values, and sides that overlap.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.errors import UnsupportedError
from deltic_theory.boolean import BooleanAction
from deltic_theory.circuits.boolean import GAINS, incrementalize_sets
from deltic_theory.lattices import FiniteSets
from tests.calculus.test_derivatives import CASES, circuit, closure
from tests.differential.circuits import Shape, random_circuit, random_row, sources_of

ACTION = BooleanAction(FiniteSets())


def random_change(rng, source):
    """Disjoint additions and removals of any rows."""
    up, down = ({random_row(rng, source.schema) for _ in range(rng.randint(0, 4))} for _ in range(2))
    return ACTION.change(frozenset(up), frozenset(down - up))


def check(query, rng, steps=5):
    """Apply random changes to the tables, and the changes of the views to the views."""
    machine = Interpreter(incrementalize_sets(query))
    tables = dict.fromkeys(sources_of(query), frozenset())
    views = dict.fromkeys(query.sinks, frozenset())
    for _ in range(steps):
        changes = {name: random_change(rng, source) for name, source in sources_of(query).items()}
        tables = {name: ACTION.plus(tables[name], change) for name, change in changes.items()}
        sides = {f"{name}+": ZSet.of(change.up) for name, change in changes.items()}
        sides |= {f"{name}-": ZSet.of(change.down) for name, change in changes.items()}
        found = machine.step(sides)
        wanted = run(query, {name: ZSet.of(rows) for name, rows in tables.items()})
        for name in views:
            change = ACTION.change(found[f"{name}+"].support(), found[f"{name}-"].support())
            views[name] = ACTION.plus(views[name], change)
            assert views[name] == wanted[name].distinct().support(), f"{query}"


QUERIES = {
    ops.Map: [circuit(case.nodes[1].operator, "s") for case in CASES[ops.Map]],
    ops.Filter: [circuit(case.nodes[1].operator, "s") for case in CASES[ops.Filter]],
    ops.Distinct: [circuit(ops.Distinct(), "s")],
    ops.Plus: [circuit(ops.Plus(), "s", "s")],
    ops.Join: [circuit(ops.Join(), "s", "t"), circuit(ops.Join(), "t", "s", "t")],
    ops.Antijoin: [circuit(ops.Antijoin(), "s", "t"), circuit(ops.Antijoin(), "s", "s")],
    ops.Constant: CASES[ops.Constant],
}
ROWS = [pytest.param(c, id=f"{op.keyword}-{i}") for op, cases in QUERIES.items() for i, c in enumerate(cases)]


def test_every_row_has_a_case_and_cites_its_source():
    assert set(QUERIES) == set(GAINS)
    assert all(row.source.startswith("FIX ") and row.up and row.down for row in GAINS.values())


@pytest.mark.law("FIX Def 1", "FIX Prop 19")
@pytest.mark.parametrize("query", ROWS)
def test_every_row_is_a_derivative(query):
    for seed in range(15):
        check(query, random.Random(seed))


@pytest.mark.law("FIX Prop 7", "FIX Prop 23")
@pytest.mark.parametrize("operator", GAINS, ids=lambda op: op.keyword)
def test_the_minus_operator_stands_for_every_row(operator, monkeypatch):
    monkeypatch.delitem(GAINS, operator)
    for query in QUERIES[operator]:
        check(query, random.Random(0))


@pytest.mark.law("FIX Def 1")
def test_recursion_by_the_minus_operator():
    for seed in range(10):
        check(closure(), random.Random(seed), 3)


@pytest.mark.law("FIX Def 1")
@pytest.mark.parametrize("batch", range(3))
def test_random_circuits(batch):
    tried = 0
    for seed in range(batch * 40, (batch + 1) * 40):
        rng = random.Random(seed)
        query = random_circuit(rng, Shape(bags=False, fixpoints=0, operators=6))
        try:
            incrementalize_sets(query)
        except UnsupportedError:
            continue
        check(query, rng, 4)
        tried += 1
    assert tried > 15


def test_what_has_no_value_on_sets_is_refused():
    with pytest.raises(UnsupportedError, match=r"^%1 negate: it has no value on sets"):
        incrementalize_sets(circuit(ops.Negate(), "s"))
    with pytest.raises(UnsupportedError, match=r"^%1 aggregate: it has no value on sets"):
        incrementalize_sets(circuit(ops.Aggregate(("a",), (ops.AggregateCall("count", "", "n"),)), "x"))


def lost_for_good(op, node, sides):
    (source,) = node.inputs
    return sides.apply(op, sides.up(source)), sides.apply(op, sides.down(source))


def all_old(op, node, sides):
    a, b = node.inputs[0], node.inputs[-1]
    gained = [sides.apply(op, sides.up(a), sides.old(b)), sides.apply(op, sides.old(a), sides.up(b))]
    return sides.union(*gained), GAINS[ops.Antijoin].rule(op, node, sides)[1]


WRONG = {"map loses for good": (ops.Map, lost_for_good), "join gains from old values": (ops.Join, all_old)}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_seen(name, monkeypatch):
    operator, rule = WRONG[name]
    monkeypatch.setitem(GAINS, operator, replace(GAINS[operator], rule=rule))
    with pytest.raises((AssertionError, ValueError)):
        check_all(QUERIES[operator])


def check_all(queries):
    for query in queries:
        for seed in range(20):
            check(query, random.Random(seed))
