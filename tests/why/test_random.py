"""Random programs with changes between: every row of small views is explained, and every explanation is checked.

This catches premises that do not give the row, rows that stand on themselves, wrong iterations after deletions, and
operators whose premises are left out.
"""

from __future__ import annotations

import gc
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from deltic import Maintenance, Pipeline, Recursion
from deltic.algebra.zset import ZSet
from deltic.circuit.tables import from_arrow
from deltic.engine.reference import ReferenceVersion
from deltic.engine.version import Entries
from deltic.why.search import ExplanationSearch
from tests.batches import first
from tests.differential.cases import Case
from tests.differential.random_programs import random_program, random_run
from tests.why.checker import Checker

MOST = 12

Epochs = Sequence[Mapping[str, Collection[tuple]]]
"""The rows of each table after each epoch."""


def contents(pipeline: Pipeline) -> dict[str, ZSet]:
    version = pipeline._version()
    return {name: from_arrow(version.read(name, table=True, counted=True)) for name in pipeline.catalog.tables}


def check_all(pipeline: Pipeline) -> int:
    """Explain and check some rows of each view; how many."""
    return check_rows(Checker(pipeline.catalog, contents(pipeline)), pipeline._reasons()._search)


def check_rows(checker: Checker, search: ExplanationSearch) -> int:
    """Explain and check some rows of each view; how many."""
    done = 0
    for view in checker.catalog.view_schemas:
        rows = sorted((row for row, weight in checker.whole[view] if weight > 0), key=repr)
        for row in rows[:MOST]:
            checker.check(search.why(view, row))
            done += 1
    return done


def run(
    seed: int, text: str, epochs: Epochs, strategy: str = "nested", engine: str = "local", each_epoch: bool = True
) -> int:
    """Run a program; explain and check rows after each epoch, or after the last one; how many."""
    maintenance = Maintenance(eliminate=not seed % 2, share=not seed % 2)
    pipeline = Pipeline(engine=engine, maintenance=maintenance, recursion=Recursion(strategy=strategy))
    pipeline.datalog(text)
    before, done = {name: frozenset() for name in epochs[0]}, 0
    for epoch, contents in enumerate(epochs, 1):
        with pipeline.transaction() as change:
            for name, rows in contents.items():
                if name in pipeline.tables:
                    change.delete(name, sorted(before[name] - rows))
                    change.insert(name, sorted(rows - before[name]))
        before = contents
        done += check_all(pipeline) if each_epoch or epoch == len(epochs) else 0
    return done


@dataclass(eq=False)
class Recomputed(ReferenceVersion):
    """The rows and histories that the checker computes."""

    checker: Checker

    @classmethod
    def of(cls, checker: Checker) -> Recomputed:
        catalog = checker.catalog
        schemas = {**catalog.table_schemas, **catalog.view_schemas}
        return cls(1, checker.tables, checker.whole, schemas, catalog.table_schemas, checker)

    def history(self, name, keys, members):
        definition, circuit, number = self.checker.recursions[name]
        assert {*members} == {*circuit.nodes[number].operator.body.sinks}
        states = [state[name] for state in self.checker._history(number, definition, circuit)]
        pairs = enumerate(pairwise(states), 1)
        changes = [(row, at, weight) for at, (before, after) in pairs for row, weight in after - before]
        places, wanted = [self.schemas[name].index(column) for column in keys], {*zip(*keys.values(), strict=True)}
        there = [each for each in changes if not keys or tuple(each[0][i] for i in places) in wanted]
        rows, *numbers = (
            zip(*sorted(there, key=lambda each: (repr(each[0]), each[1])), strict=True) if there else ((), (), ())
        )
        times, weights = (np.array(column, np.int64) for column in numbers)
        return Entries([(lambda places: [rows[i] for i in places[0]], np.arange(len(rows))[None], times, weights)])


def recomputed(text: str, contents: Mapping[str, Collection[tuple]]) -> int:
    """Explain and check rows over a version without an engine; how many."""
    pipeline = Pipeline(engine="reference")
    pipeline.datalog(text)
    catalog = pipeline.catalog
    checker = Checker(catalog, {name: ZSet.of(contents.get(name, ())) for name in catalog.tables})
    return check_rows(checker, ExplanationSearch(catalog, Recomputed.of(checker), True, (), earlier=lambda _: None))


def together(seeds: range) -> tuple[str, Epochs]:
    """The small programs of several seeds as one, which costs less: each relation has its seed in its name."""
    texts, epochs = [], [dict[str, Any]() for _ in range(3)]
    for seed in seeds:
        case = small(seed)
        names = re.findall(r"\.decl (\w+)", str(case.program))
        texts.append(re.sub(rf"\b({'|'.join(names)})\b", rf"\1_{seed}", str(case.program)))
        for together, own in zip(epochs, case.run, strict=True):
            together.update({f"{name}_{seed}": rows for name, rows in own.items()})
    return "\n".join(texts), epochs


def small(seed: int) -> Case:
    """A program of two or three relations, and three epochs."""
    rng = random.Random(seed)
    program = random_program(rng, 3)
    return Case(program, tuple(random_run(rng, program)[:3]))


def run_larger(seeds: range, strategy: str = "nested") -> int:
    """Run larger programs of the seeds; how many rows are explained."""
    done = 0
    for seed in seeds:
        case = Case.random(seed)
        try:
            done += run(seed, str(case.program), case.run, strategy)
        except Exception as error:
            error.add_note(f"seed {seed}:\n{case.program}")
            raise
    return done


@pytest.fixture
def uncollected():
    """Garbage is collected afterwards: collections in between take a sixth of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("batch", range(20))
@pytest.mark.usefixtures("uncollected")
def test_random_programs_are_explained(batch):
    """A thousand, of which a quarter runs on the engine, and a sixteenth on one that stores no histories."""
    seeds = range(batch * 50, (batch + 1) * 50)
    done = run(batch, *together(seeds[::4]), each_epoch=False)
    done += run(batch, *together(seeds[2::16]), engine="reference", each_epoch=False)
    for rest in (seeds[1::4], seeds[3::4], *(seeds[start::16] for start in (6, 10, 14))):
        text, epochs = together(rest)
        done += recomputed(text, epochs[-1])
    assert done > 50


@pytest.mark.parametrize("batch", first(1, 20))
def test_larger_random_programs_are_explained_after_each_epoch(batch):
    assert run_larger(range(batch * 10, (batch + 1) * 10)) > 10


@pytest.mark.parametrize("strategy", ["elastic", "full"])
def test_the_iterations_of_other_strategies_serve_as_well(strategy):
    assert run_larger(range(500, 503), strategy) > 0


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
