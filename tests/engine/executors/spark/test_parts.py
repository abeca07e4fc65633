"""Parts of an epoch that share no change: small ones run in this process from files, the others together as a job.

Beside a job, small parts with as few stages are in the job.

Catches a part that runs twice, or not at all; two parts of which one reads what the other changes; a part that is
published when another one fails; and what the whole epoch has to do once: delays, forgetting, the number of the epoch.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest

from deltic.circuit.reading import parse_circuit
from deltic.datalog import check, lower, parse
from deltic.engine.executors.spark.job import run_job
from deltic.engine.executors.spark.placement import Placement
from deltic.errors import ChangeError, DelticError
from tests.conformance.engines import Driver, few_rows, in_tasks, on_shards
from tests.conformance.test_evolution import DELAY
from tests.differential.compare import first_disagreement
from tests.differential.test_circuits import SHAPE, random_case
from tests.differential.test_rounds import PROGRAMS, random_run
from tests.engine.executors.shards.jobs import run_here
from tests.engine.executors.spark.engines import FEW
from tests.engine.executors.spark.placing import placed
from tests.engine.reopening import saved

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl reach(x: number, y: number)
    reach(x, y) :- edge(x, y).
    reach(x, z) :- reach(x, y), edge(y, z).
    .decl into(y: number, n: number) into(y, n) :- edge(_, y), n = count : { reach(_, y) }.
    .decl sale(id: number, shop: number) .input sale
    .decl shop(shop: number, land: number) .input shop
    .decl sold(land: number, n: number) sold(l, n) :- shop(_, l), n = count : { sale(i, s), shop(s, l) }.
    .decl visit(page: number, shop: number) .input visit
    .decl seen(page: number, land: number) seen(p, l) :- visit(p, s), shop(s, l).
"""


def circuit_of(text):
    return lower(check([parse(text)]))


class Jobs:
    """Runs jobs here, and notes which relations they got rows of."""

    def __init__(self):
        self.targets, self.error = [], None

    def __call__(self, messages, tasks, shards, what):
        self.targets.append({message.target for message in messages} - {""})
        if self.error is not None:
            raise self.error
        return run_here(messages, tasks, shards, what)


@pytest.fixture
def jobs():
    return Jobs()


@pytest.fixture
def there(jobs):
    circuit = circuit_of(PROGRAM)
    driver = Driver(in_tasks(circuit, "job", run_tasks=jobs, is_small=few_rows(3)), circuit)
    driver.insert(
        shop=[(n, n % 2) for n in range(4)], sale=[(n, n % 4) for n in range(8)], edge=[(n, n + 1) for n in range(9)]
    )
    jobs.targets.clear()
    return driver


def places(result):
    return {part.place: dict(part.rows) for part in result.parts}


def test_a_small_part_runs_here_and_a_large_one_as_a_job(there, jobs):
    result = there.insert(edge=[(20, 21)], sale=[(n, 1) for n in range(100, 110)], visit=[(1, 1), (2, 0)])
    assert jobs.targets == [{"sale", "visit"}]
    assert places(result) == {"job": {"sale": 10, "visit": 2}, "files": {"edge": 1}}
    assert sum(part.rows_visited for part in result.parts) == result.rows_visited
    assert result.tables == {"edge": 1, "sale": 10, "visit": 2}
    assert there.rows("sold") == {(0, 4), (1, 14)}
    assert there.rows("seen") == {(1, 1), (2, 0)}
    assert (20, 21) in there.rows("reach")
    assert there.engine.epoch == 2


def test_an_epoch_that_is_small_throughout_is_no_job(there, jobs):
    there.engine.executor.holder.before_jobs = lambda: pytest.fail("it looks at the executors")
    result = there.insert(edge=[(20, 21)], sale=[(100, 1)])
    assert (jobs.targets, places(result)) == ([], {"files": {"edge": 1, "sale": 1}})
    assert there.engine.executor.resident == 0
    there.apply({"edge": [((20, 21), -1)]})
    assert (20, 21) not in there.rows("reach")
    assert not jobs.targets


def test_small_parts_are_small_together(there, jobs):
    assert places(there.insert(edge=[(20, 21)], visit=[(1, 1), (2, 0)])) == {"files": {"edge": 1, "visit": 2}}
    result = there.insert(edge=[(n, n + 1) for n in range(30, 33)], visit=[(3, 1)])
    assert places(result) == {"job": {"edge": 3, "visit": 1}}
    assert places(there.insert(edge=[(23, 24)], visit=[(n, 1) for n in range(9, 12)])) == {
        "files": {"edge": 1},
        "job": {"visit": 3},
    }


def test_changes_that_meet_are_one_part(there, jobs):
    result = there.insert(shop=[(9, 1)], visit=[(1, 9)], sale=[(n, 9) for n in range(100, 110)])
    assert jobs.targets == [{"shop", "visit", "sale"}]
    assert places(result) == {"job": {"shop": 1, "visit": 1, "sale": 10}}
    assert (1, 1) in there.rows("seen")


def test_parts_of_a_plan():
    plan = on_shards(circuit_of(PROGRAM), shards=2).executor.placed
    parts = plan.for_epoch({"edge", "sale", "visit"}, ()).plan.parts
    assert {part & {"edge", "sale", "visit"} for part in parts} == {frozenset([t]) for t in ("edge", "sale", "visit")}
    assert not frozenset.intersection(*parts)
    assert plan.for_epoch(["shop"], ()).plan.parts[0] >= {"shop", "sold", "seen"}
    assert plan.for_epoch((), ()).plan.parts == (frozenset(),)


def test_an_epoch_without_changes(there, jobs):
    there.engine.apply({})
    assert (there.engine.epoch, jobs.targets) == (2, [])


CONFLICTS = {
    "both": {"edge": [((0, 1), 1)], "sale": [((n, 0), -1) for n in range(100, 110)]},
    "the small one": {"edge": [((0, 1), 1)], "sale": [((n, 0), 1) for n in range(100, 110)]},
    "the large one": {"edge": [((20, 21), 1)], "sale": [((n, 0), -1) for n in range(100, 110)]},
}


@pytest.mark.parametrize("which", CONFLICTS)
def test_a_conflict_is_told_as_that_of_one_job(there, which):
    before = there.everything()
    with pytest.raises(ChangeError) as error:
        there.apply(CONFLICTS[which])
    assert there.everything() == before
    there.engine.executor.holder.is_small = few_rows(-1)
    with pytest.raises(ChangeError) as same:
        there.apply(CONFLICTS[which])
    assert str(error.value) == str(same.value)


def test_a_job_that_fails_after_a_small_part_leaves_the_rows_of_before(there, jobs):
    before, jobs.error = there.everything(), DelticError("the cluster is gone")
    changes = {"edge": [((20, 21), 1)], "sale": [((n, 0), 1) for n in range(100, 110)]}
    with pytest.raises(DelticError, match="the cluster is gone"):
        there.apply(changes)
    assert (there.everything(), there.engine.epoch) == (before, 1)
    jobs.error = None
    there.apply(changes)
    assert (20, 21) in there.rows("reach")
    assert there.rows("sold") == {(0, 14), (1, 4)}


def test_an_epoch_that_is_aborted_leaves_the_rows_of_before(there):
    before = there.everything()
    rows = {
        "edge": there.batch("edge", [((20, 21), 1)]),
        "sale": there.batch("sale", [((n, 0), 1) for n in range(9, 19)]),
    }
    with there.engine.prepare(rows) as prepared:
        prepared.abort()
    assert there.everything() == before


def test_a_delay_comes_once_whatever_part_of_the_program_changes(jobs):
    more = "%3 = source other : set{n: int64}\n%4 = sink others (%3) : set{n: int64}"
    circuit = parse_circuit(f"{DELAY}\n{more}")
    there = Driver(in_tasks(circuit, "job", run_tasks=jobs, is_small=few_rows(3)), circuit)
    there.insert(seen=[(1, 7)], other=[(n,) for n in range(9)])
    result = there.insert(other=[(n,) for n in range(20, 29)])
    assert places(result) == {"job": {"other": 9}}
    assert there.rows("before") == {(1, 7)}
    assert places(there.insert(other=[(30,)])) == {"files": {"other": 1}}
    assert there.rows("before") == {(1, 7)}


def test_reports_name_the_parts_and_costs_are_learned_of_each():
    circuit = circuit_of(PROGRAM)
    placement = Placement(["job"])
    there = Driver(placed(circuit, placement, is_small=few_rows(3)), circuit)
    before = placement.costs.to_json()["lines"]
    result = there.insert(edge=[(1, 2)], sale=[(n, 1) for n in range(1100)])
    chosen = "it was chosen for all epochs"
    beside = "in the driver's process from files: edge (1 row)"
    assert result.placement.summary == f"as one Spark job: {chosen}; {beside}"
    assert f"the last epoch ran as one Spark job: {chosen}; {beside}" in there.engine.explain("reach")
    assert set(placement.costs.fans) == {("load", "edge"), ("load", "sale")}
    learned = placement.costs.to_json()["lines"]
    assert {name for name in learned if learned[name][2] > before[name][2]} == {"files load", "job load"}
    result = there.insert(edge=[(2, 3)])
    assert result.placement.summary == f"in the driver's process from files: {chosen}"
    after = placement.costs.to_json()["lines"]
    assert {name for name in after if after[name][2] > learned[name][2]} == {"files update"}


def test_rounds_of_a_small_part_are_jobs_where_many_rows_wait(jobs):
    circuit = circuit_of(PROGRAMS["doubling"])
    there = Driver(in_tasks(circuit, "job", run_tasks=jobs, few=2, is_small=few_rows(8)), circuit)
    result = there.insert(e=[(n, n + 1) for n in range(8)])
    assert places(result) == {"files": {"e": 8}}
    assert len(there.rows("p")) == 36
    (report,) = result.components
    assert 0 < len(jobs.targets) < 8
    assert f"{len(jobs.targets)} of them a job each" in report.reason


@pytest.mark.parametrize("most", [0, 2, 1 << 20])
def test_a_state_is_read_again_between_parts(most):
    circuit = circuit_of(PROGRAM)
    drivers = [Driver(in_tasks(circuit, "job", is_small=few_rows(most)), circuit) for _ in range(2)]
    one, reference = drivers[0], Driver.of_program("reference", circuit)
    rng = random.Random(3)
    for epoch in range(6):
        changes = {
            table: [((rng.randrange(9), rng.randrange(9)), rng.choice((1, 1, -1))) for _ in range(rng.randrange(5))]
            for table in ("edge", "sale", "shop", "visit")
        }
        assert one.changes(changes, "normalize") == reference.changes(changes, "normalize")
        image = saved(one.engine.capture())
        one = drivers[epoch % 2 - 1]
        one.engine.restore(image)
        one.engine.executor.holder.place = "job"
        assert one.everything() == reference.everything()


TWO = ("two, mutual", "points-to, CSPA", "texts, ordered and made")
OTHER_TWO = ("bill of materials", "greatest of texts")


@pytest.mark.parametrize(
    "most", [pytest.param(0, marks=pytest.mark.slow), 3, pytest.param(1 << 20, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("names", [pytest.param(TWO, marks=pytest.mark.slow), OTHER_TWO], ids=len)
def test_recursions_side_by_side(names, most):
    circuit = circuit_of("\n".join(PROGRAMS[name] for name in names))
    run = random_run(random.Random(most), circuit, 1)
    found = first_disagreement(circuit, run, lambda circuit: in_tasks(circuit, "job", few=2, is_small=few_rows(most)))
    assert found is None, f"{run}\n{found}"


def disagreement(seed: int, most: int, **shape: bool) -> str | None:
    case = random_case(seed, replace(SHAPE, **shape))
    make = partial(in_tasks, executor="job", few=4, is_small=few_rows(most))
    found = first_disagreement(case.circuit, case.run, make)
    return f"seed {seed}\n{case.circuit}\n{case.run}\n{found}" if found else None


@pytest.mark.parametrize("most", [2, 5, 1 << 20])
def test_random_circuits_in_parts(most, record_property):
    record_property("random circuits", 3)
    for seed in range(most, most + 3):
        assert (found := disagreement(seed, most, bags=True)) is None, found


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 2, 5, 1 << 20])
@pytest.mark.parametrize("shape", [{"bags": True}, {"rich": True, "ordered": True}], ids=str)
def test_many_random_circuits_in_parts(shape, most, record_property):
    record_property("random circuits", 20)
    for seed in range(700, 720):
        assert (found := disagreement(seed, most, **shape)) is None, found


@pytest.mark.slow
def test_parts_beside_a_job_of_spark(spark, tmp_path):
    circuit = circuit_of(PROGRAM)
    job = partial(run_job, spark, slots=lambda: 2)
    there = Driver(in_tasks(circuit, "job", run_tasks=job, few=FEW, is_small=few_rows(3)), circuit)
    there.insert(shop=[(n, n % 2) for n in range(4)], sale=[(n, n % 4) for n in range(8)])
    result = there.insert(edge=[(1, 2), (2, 3)], sale=[(n, 1) for n in range(100, 110)])
    assert places(result) == {"job": {"sale": 10}, "files": {"edge": 2}}
    assert there.rows("reach") == {(1, 2), (2, 3), (1, 3)}
    assert there.rows("sold") == {(0, 4), (1, 14)}
