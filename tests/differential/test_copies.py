"""Relations of which every shard has a copy, whichever these are, against the reference, as they come and go.

Catches an output row that is derived once for each copy, or that no shard derives; a change of a copied relation that
some shard does not hear of, or meets with rows of another version; and what is lost, or is there twice, when a copy is
made or given up between epochs: places of rows, the rounds of a recursion, the states of groups.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import pytest

from deltic.circuit.graph import Circuit
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.copies import Copies
from deltic.program.program import Program
from tests.conformance.engines import few_rows, in_tasks, on_shards
from tests.differential.cases import Case
from tests.differential.compare import MakeEngine, first_disagreement
from tests.differential.test_circuits import SHAPE, random_case
from tests.differential.test_rounds import random_run
from tests.differential.test_windows import check_engine

FACT = """
    .decl f(a: number, b: number, m: number) .input f
    .decl a(a: number, x: number) .input a
    .decl b(b: number, y: number) .input b
"""
PROGRAMS = {
    "star": FACT
    + """
        .decl wide(a: number, x: number, y: number, m: number) wide(a, x, y, m) :- f(a, b, m), a(a, x), b(b, y), x < 6.
        .decl sums(x: number, y: number, s: number)
        sums(x, y, s) :- a(_, x), b(_, y), s = sum m : { f(a, b, m), a(a, x), b(b, y) }.
    """,
    "left join, preserved either side": FACT
    + """
        .decl left(a: number, m: number, x: number)
        left(a, m, x) :- f(a, _, m), a(a, x).
        left(a, m, -1) :- f(a, _, m), !a(a, _).
        .decl right(a: number, x: number, m: number)
        right(a, x, m) :- a(a, x), f(a, _, m).
        right(a, x, -1) :- a(a, x), !f(a, _, _).
        .decl neither(b: number) neither(b) :- b(b, y), !a(y, _), !f(_, b, y).
    """,
    "aggregates of copies, and copies of aggregates": FACT
    + """
        .decl most(a: number, x: number) most(a, x) :- a(a, _), x = max z : { a(a, z) }.
        .decl total(s: number) total(s) :- s = sum x : { a(_, x) }.
        .decl best(a: number, m: number) best(a, m) :- f(a, _, m), most(a, m).
        .decl above(m: number) above(m) :- f(a, _, m), most(a, x), total(s), x + m > s.
    """,
    "copies of copies, and with themselves": FACT
    + """
        .decl chain(m: number, y: number) chain(m, y) :- f(a, _, m), a(a, x), b(x, y).
        .decl same(a: number, c: number, m: number) same(a, c, m) :- a(a, x), a(c, x), f(a, c, m).
        .decl pairs(a: number, b: number) pairs(a, b) :- a(a, _), b(b, _).
        .decl computed(m: number) computed(m) :- a(a, x), f(a + 1, x - 1, m).
    """,
    "recursion by a key": FACT
    + ".decl r(a: number, c: number) r(a, c) :- f(a, c, _). r(a, d) :- r(a, c), a(c, d), !b(d, _)."
    + ".decl end(a: number, y: number) end(a, y) :- r(a, c), b(c, y).",
    "recursion in rounds": FACT
    + ".decl r(a: number, c: number) r(a, c) :- f(a, c, _), b(a, _). r(a, d) :- r(a, c), a(c, e), r(e, d), !b(e, d)."
    + ".decl end(a: number, y: number) end(a, y) :- r(a, c), b(c, y).",
}


@dataclass(frozen=True)
class ByLot(Copies):
    """Other relations each time, of all that are joined with any."""

    least: int = 0
    seed: int = 0

    def chosen(
        self, program: Program, rows: Mapping[str, int], shards: int, copied: Mapping[str, str]
    ) -> dict[str, str]:
        rng = random.Random(f"{self.seed} {sorted(rows.items())}")
        read = sorted({name for rule in program.rules for name in rule.relations} - program.recursive)
        return {name: "by lot" for name in read if rng.random() < 0.5}


def by_lot(circuit: Circuit, seed: int = 0, **options) -> IncrementalEngine:
    return on_shards(circuit, **{"shards": 2 + seed % 2, "copies": ByLot(seed=seed), **options})


def in_jobs(circuit: Circuit, seed: int = 0, executor: str = "job") -> IncrementalEngine:
    return in_tasks(circuit, executor, few=5, is_small=few_rows(3), copies=ByLot(seed=seed))


def by_size(circuit: Circuit, seed: int = 0) -> IncrementalEngine:
    return on_shards(circuit, shards=2, copies=Copies(limit=700 + seed, least=1))


def compare(name: str, seeds: range, make, epochs: int = 5) -> None:
    circuit = lower(check([parse(PROGRAMS[name])]))
    for seed in seeds:
        run = random_run(random.Random(seed), circuit, epochs)
        found = first_disagreement(circuit, run, partial(make, seed=seed))
        if found is not None:
            pytest.fail(f"seed {seed}\n{PROGRAMS[name]}\n{run}\n{found}", pytrace=False)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_copies_that_come_and_go(name):
    compare(name, range(11, 12), by_lot)


@pytest.mark.parametrize("name", ["star"])
def test_copies_that_come_and_go_by_size(name):
    compare(name, range(1), by_size)


@pytest.mark.parametrize("name", ["left join, preserved either side"])
def test_copies_in_tasks(name):
    compare(name, range(1), in_jobs, epochs=2)


MADE = {"by lot": by_lot, "by size": by_size, "jobs": in_jobs, "process": partial(in_jobs, executor="process")}


@pytest.mark.slow
@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_many_copies(name, make):
    compare(name, range(20, 22), MADE[make])


def circuits(seeds: range, make: MakeEngine, **shape: bool) -> None:
    for seed in seeds:
        case = random_case(seed, replace(SHAPE, **shape))
        found = first_disagreement(case.circuit, case.run, make)
        if found is not None:
            pytest.fail(f"seed {seed}\n{case.circuit}\n{case.run}\n{found}", pytrace=False)


@pytest.mark.parametrize("shape", [{"bags": True}, {"rich": True, "ordered": True}], ids=str)
def test_random_circuits(shape, record_property):
    record_property("random circuits", 3)
    circuits(range(600, 603), by_lot, **shape)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(4))
def test_many_random_circuits(batch, record_property):
    record_property("random circuits", 10)
    circuits(
        range(700 + 10 * batch, 710 + 10 * batch), partial(by_lot, seed=batch), bags=batch % 2 == 0, rich=batch > 1
    )


def test_random_circuits_that_remember_epochs():
    for seed in (2001, 2002):
        check_engine(seed, partial(by_lot, seed=seed))


@pytest.mark.slow
def test_many_random_circuits_that_remember_epochs():
    for seed in range(2100, 2120):
        check_engine(seed, partial(by_lot, seed=seed))


@pytest.mark.slow
def test_random_datalog(record_property):
    record_property("random programs", 10)
    for seed in range(900, 910):
        case = Case.random(seed)
        found = first_disagreement(case.circuit(), case.run, partial(by_lot, seed=seed))
        if found is not None:
            pytest.fail(f"seed {seed}\n{case.program}\n{case.run}\n{found}", pytrace=False)
