"""Products: of rows that agree in all that is wanted of them each is counted, and none is followed by itself."""

from __future__ import annotations

import random

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from tests.conformance.engines import Driver
from tests.differential.compare import first_disagreement
from tests.differential.test_rounds import random_run

DECLARED = """
    .decl a(k: number, v: number) .input a
    .decl b(k: number, v: number, w: number) .input b
    .decl c(k: number) .input c
"""
PROGRAMS = {
    "sets": ".decl r(x: number, y: number) r(x, y) :- a(_, x), b(_, y, _).",
    "sums": ".decl r(x: number, y: number, s: number)"
    + "r(x, y, s) :- a(_, x), b(_, _, y), s = sum k : { c(k), a(_, x), b(_, _, y) }.",
    "conditions": ".decl r(x: number, y: number) r(x, y) :- a(_, x), b(y, z, _), c(_), z < x, !c(y).",
    "recursion": ".decl r(x: number, y: number) r(x, y) :- a(x, y). r(x, z) :- r(x, _), b(_, z, _), !c(z).",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_rows_are_those_of_the_reference(name: str) -> None:
    circuit = lower(check([parse(DECLARED + PROGRAMS[name])]))
    for seed in range(3):
        run = random_run(random.Random(seed), circuit, 5)
        assert first_disagreement(circuit, run, IncrementalEngine) is None


def test_each_value_is_taken_once() -> None:
    program = DECLARED + ".decl r(x: number, y: number, z: number) r(x, y, z) :- c(x), a(_, y), b(_, _, z)."
    driver = Driver(IncrementalEngine(lower(check([parse(program)]))), lower(check([parse(program)])))
    driver.insert(a=[(k, k % 3) for k in range(60)], b=[(k, k, k % 4) for k in range(80)])
    assert driver.insert(c=[(1,)]).rows_visited < 60, "and not 60 times 80"
    assert driver.rows("r") == {(1, y, z) for y in range(3) for z in range(4)}
