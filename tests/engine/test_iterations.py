"""Time as data: a recursive row's time is the iteration of naive evaluation at which it first appears [DBSP §7.2].

Checked after every epoch, so that rows move to later iterations when their shortest derivation goes and to earlier
ones when a shorter one comes.
"""

from __future__ import annotations

import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.circuit.oracle.pointwise import Row, Rows
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from tests.differential.compare import batches_of, changes_between
from tests.engine.test_bootstrap import entries

EDGES = ".decl e(x: number, y: number)\n.input e\n"
PROGRAMS = {
    "linear": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "non-linear": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "same generation": "p(x, x) :- e(x, _). p(x, y) :- e(a, x), p(a, b), e(b, y).",
    "with arithmetic": "p(x, y) :- e(x, y). p(x, (y + z) % 7) :- p(x, y), p(y, z), x != z.",
    "with negation": "p(x, y) :- e(x, y), !e(y, x). p(x, z) :- p(x, y), e(y, z), !e(z, z).",
    "mutual": "p(x, y) :- e(x, y). q(x, z) :- p(x, y), e(y, z). p(x, z) :- q(x, y), q(y, z). p(y, x) :- q(x, y).",
}


def program(rules: str) -> Circuit:
    declarations = EDGES + ".decl p(x: number, y: number)\n.decl q(x: number, y: number)\n"
    return lower(check([parse(declarations + rules.replace(". ", ".\n"))]))


def first_iterations(circuit: Circuit, edges: frozenset[Row]) -> dict[str, dict[Row, int]]:
    """For each recursive relation its rows with the iteration of naive evaluation that derives them first."""
    (number,) = (n for n, node in enumerate(circuit.nodes) if isinstance(node.operator, ops.Fixpoint))
    fixpoint = circuit.nodes[number]
    imports = [_value(circuit, i, ZSet.of(edges)) for i in fixpoint.inputs]
    body = Interpreter(fixpoint.operator.body)
    current: dict[str, Rows] = {name: ZSet() for name in fixpoint.operator.body.sinks}
    found: dict[str, dict[Row, int]] = {name: {} for name in current}
    for iteration in range(1, 200):
        following = body.step({}, imports, current)
        for name, rows in following.items():
            for row in rows.support():
                found[name].setdefault(row, iteration)
        if following == current:
            return found
        current = following
    raise AssertionError("no end")


def _value(circuit: Circuit, number: int, edges: Rows) -> Rows:
    """The value of one node of a circuit."""
    probe = Node(ops.Sink("probe"), (number,), circuit.nodes[number].type)
    return run(Circuit((*circuit.nodes[: number + 1], probe)), {"e": edges})["probe"]


def stored_iterations(engine: IncrementalEngine, name: str) -> dict[Row, int]:
    state = engine.executor.running.states[name]
    found: dict[tuple[Row, int], int] = {}
    for run_ in state.contents.runs:
        for entry, weight in entries(engine, state, state.contents, run_).items():
            found[entry] = found.get(entry, 0) + weight
    assert set(found.values()) <= {0, 1}
    return {row: time for (row, time), weight in found.items() if weight}


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=PROGRAMS)
def test_times_are_first_iterations(rules, strategy):
    circuit = program(rules)
    for seed in range(10):
        rng = random.Random(seed)
        engine = IncrementalEngine(circuit, strategy)
        edges: frozenset[Row] = frozenset()
        for _ in range(6):
            new = frozenset(e for e in sorted(edges) if rng.random() < 0.7)
            new |= {(rng.randrange(8), rng.randrange(8)) for _ in range(rng.randint(0, 8))}
            engine.apply(batches_of(circuit, changes_between({"e": edges}, {"e": new})))
            edges = new
            for name, expected in first_iterations(circuit, edges).items():
                assert stored_iterations(engine, name) == expected
