"""Random programs with changes between: every row of small views is explained, and every explanation is checked.

This catches premises that do not give the row, rows that stand on themselves, wrong iterations after deletions, and
operators whose premises are left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from deltic import Maintenance, Pipeline, Recursion
from deltic.algebra.zset import ZSet
from deltic.circuit.tables import from_arrow
from tests.batches import first
from tests.differential.cases import Case
from tests.differential.random_programs import random_program, random_run
from tests.why.checker import Checker

MOST = 12


def contents(pipeline: Pipeline) -> dict[str, ZSet]:
    version = pipeline._version()
    return {name: from_arrow(version.read(name, table=True, counted=True)) for name in pipeline.catalog.tables}


def check_all(pipeline: Pipeline) -> int:
    """Explain and check some rows of each view; how many."""
    checker, search = Checker(pipeline.catalog, contents(pipeline)), pipeline._reasons()._search
    done = 0
    for view in pipeline.views:
        rows = sorted((row for row, weight in checker.whole[view] if weight > 0), key=repr)
        for row in rows[:MOST]:
            checker.check(search.why(view, row))
            done += 1
    return done


def run(seed: int, case: Case, strategy: str = "nested", each_epoch: bool = True) -> int:
    """Run a case; explain and check rows after each epoch, or after the last one; how many.

    The latter runs three of four cases by the reference engine, which compiles no maintenance and costs half.
    """
    maintenance = Maintenance(eliminate=not seed % 2, share=not seed % 2)
    engine = "local" if each_epoch or seed % 8 in (0, 3) else "reference"
    pipeline = Pipeline(engine=engine, maintenance=maintenance, recursion=Recursion(strategy=strategy))
    pipeline.datalog(str(case.program))
    before, done = {name: frozenset() for name in case.run[0]}, 0
    for epoch, contents in enumerate(case.run, 1):
        with pipeline.transaction() as change:
            for name, rows in contents.items():
                if name in pipeline.tables:
                    change.delete(name, sorted(before[name] - rows))
                    change.insert(name, sorted(rows - before[name]))
        before = contents
        done += check_all(pipeline) if each_epoch or epoch == len(case.run) else 0
    return done


def small(seed: int) -> Case:
    """A program of two or three relations, and three epochs."""
    rng = random.Random(seed)
    program = random_program(rng, 3)
    return Case(program, tuple(random_run(rng, program)[:3]))


def run_all(seeds: range, case_of: Callable[[int], Case], each_epoch: bool) -> int:
    """Run the cases of the seeds; how many rows are explained."""
    done = 0
    for seed in seeds:
        case = case_of(seed)
        try:
            done += run(seed, case, each_epoch=each_epoch)
        except Exception as error:
            error.add_note(f"seed {seed}:\n{case.program}")
            raise
    return done


@pytest.mark.parametrize("batch", range(20))
def test_random_programs_are_explained(batch):
    assert run_all(range(batch * 50, (batch + 1) * 50), small, each_epoch=False) > 50


@pytest.mark.parametrize("batch", first(1, 40))
def test_larger_random_programs_are_explained_after_each_epoch(batch):
    assert run_all(range(batch * 10, (batch + 1) * 10), Case.random, each_epoch=True) > 10


@pytest.mark.parametrize("strategy", ["elastic", "full"])
def test_the_iterations_of_other_strategies_serve_as_well(strategy):
    assert sum(run(seed, Case.random(seed), strategy) for seed in range(500, 503)) > 0


FORALL = """
.decl node(x: number)
.input node
.decl child(x: number, y: number)
.input child
.decl tree(x: number)
tree(x) :- node(x), forall y: (child(x, y) -> tree(y)).
.decl win(x: number)
win(x) :- child(x, y), forall z: (child(y, z) -> win(z)).
"""


@pytest.mark.parametrize("seed", range(6))
def test_recursions_through_universals(seed):
    """Each row is explained by rows of earlier iterations, over graphs with circles, before and after deletions."""
    rng = random.Random(seed)
    pipeline = Pipeline()
    pipeline.datalog(FORALL)
    edges = {(rng.randrange(8), rng.randrange(8)) for _ in range(9)}
    with pipeline.transaction() as change:
        change.insert("node", [(i,) for i in range(8)])
        change.insert("child", sorted(edges))
    done = check_all(pipeline)
    with pipeline.transaction() as change:
        change.delete("child", sorted(edges)[::2])
    assert done + check_all(pipeline) > 0
