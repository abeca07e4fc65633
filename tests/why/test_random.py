"""Random programs with changes between: every row of small views is explained, and every explanation is checked.

This catches premises that do not give the row, rows that stand on themselves, wrong iterations after deletions, and
operators whose premises are left out.
"""

from __future__ import annotations

import random

import pytest

from deltic import Maintenance, Pipeline, Recursion
from deltic.algebra.zset import ZSet
from deltic.circuit.tables import from_arrow
from tests.differential.cases import Case
from tests.why.checker import Checker

BATCHES, PER_BATCH = 10, 10
MOST = 12


def contents(pipeline: Pipeline) -> dict[str, ZSet]:
    version = pipeline._version()
    return {name: from_arrow(version.read(name, table=True, counted=True)) for name in pipeline.catalog.tables}


def check_all(pipeline: Pipeline) -> int:
    """Explain and check some rows of each view; how many."""
    checker = Checker(pipeline.catalog, contents(pipeline))
    done = 0
    for view in pipeline.views:
        rows = sorted((row for row, weight in checker.whole[view] if weight > 0), key=repr)
        for row in rows[:MOST]:
            checker.check(pipeline.why(view, row))
            done += 1
    return done


def run(seed: int, strategy: str = "nested") -> int:
    case, done = Case.random(seed), 0
    maintenance = Maintenance(eliminate=not seed % 2, share=not seed % 2)
    pipeline = Pipeline(maintenance=maintenance, recursion=Recursion(strategy=strategy))
    pipeline.datalog(str(case.program))
    before = {name: frozenset() for name in case.run[0]}
    for contents in case.run:
        with pipeline.transaction() as change:
            for name, rows in contents.items():
                if name in pipeline.tables:
                    change.delete(name, sorted(before[name] - rows))
                    change.insert(name, sorted(rows - before[name]))
        before = contents
        done += check_all(pipeline)
    return done


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs_are_explained(batch):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        try:
            run(seed)
        except Exception as error:
            error.add_note(f"seed {seed}:\n{Case.random(seed).program}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES, 40))
def test_many_more_random_programs_are_explained(batch):
    test_random_programs_are_explained(batch)


@pytest.mark.parametrize("strategy", ["elastic", "full"])
def test_the_iterations_of_other_strategies_serve_as_well(strategy):
    assert sum(run(seed, strategy) for seed in range(500, 503)) > 0


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
