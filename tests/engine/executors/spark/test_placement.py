"""Which place is chosen, and what costs are learned.

Catches a state that goes to and fro, a choice that forgets the memory of the driver, or the cost of a move, and a line
that what is measured does not bend, or that one exception bends out of all shape.
"""

from __future__ import annotations

import json
import random

import pytest

from deltic.engine.executors.spark.costs import Costs, LinearCost
from deltic.engine.executors.spark.placement import HeldState, Placement

GIB = 1 << 30


def held(home, rows, resident=None):
    return HeldState(home, {"t": rows}, rows * 100, rows * 100 if resident is None else resident)


def choose(placement, rows, there, barred=None):
    return placement.choose({"t": rows}, there, barred or {})


def test_what_is_small_runs_by_the_local_engine():
    chosen = choose(Placement(), 1, held("local", 1000))
    assert (chosen.place, chosen.reason) == ("local", "it is expected to be the quickest")
    assert list(chosen.expected) == ["local", "process", "files"]
    assert chosen.expected["local"].moving == 0 < chosen.expected["files"].moving


def test_a_load_on_many_executors_is_a_job_where_that_is_quicker():
    costs = Costs(shards=100, slots=100)
    for _ in range(3):
        costs.learn("job", "load", {"t": 10**7}, 2 * 10**7, 8.0)
        costs.learn("local", "load", {"t": 10**7}, 2 * 10**7, 40.0)
    assert choose(Placement(costs=costs), 10**8, HeldState("local")).place == "job"
    assert choose(Placement(costs=costs), 10**4, HeldState("local")).place == "local"


def test_a_state_that_outgrows_the_memory_leaves_the_driver_and_does_not_come_back_for_less_than_room():
    placement = Placement(memory=GIB)
    stays = choose(placement, 1000, held("local", 10_000_000))
    assert stays.place == "local"
    goes = choose(placement, 1_000_000, held("local", 10_000_000))
    assert goes.place == "job"
    assert goes.reason == (
        "the driver is to hold 1,073,741,824 bytes, and by the local engine it would hold 1,100,000,000"
    )
    small = choose(placement, 1, held("shards", 6_000_000, resident=0))
    assert (small.place, small.expected["local"].bytes) == ("process", 600_000_100)


def test_changes_in_the_driver_until_they_are_too_much_for_it():
    placement = Placement(memory=GIB)
    assert choose(placement, 1000, held("shards", 10**9, resident=10**8)).place == "process"
    assert choose(placement, 1000, held("shards", 10**9, resident=GIB)).place == "files"
    assert choose(placement, 10**6, held("shards", 10**9, resident=GIB)).place == "job"


def test_a_move_has_to_pay_before_it_is_made():
    placement, there = Placement(), held("shards", 100_000)
    first = choose(placement, 10_000, there)
    assert first.place == "process"
    assert first.reason == "by the local engine it would be quicker, but not by as much as the move there costs"
    gain = first.expected["process"].seconds - first.expected["local"].seconds
    stayed = 1
    while (chosen := choose(placement, 10_000, there)).place == "process":
        stayed += 1
    assert stayed == int((first.expected["local"].moving + 1) / gain)
    assert chosen.reason.startswith("since the last move, staying has cost ")
    assert placement.regret == 0


def test_no_flapping():
    """At random changes the state moves once at most: what is quicker for one is not for the next."""
    placement, rng, home, moves = Placement(memory=4 * GIB), random.Random(1), "shards", 0
    for _ in range(2000):
        chosen = choose(placement, int(10 ** rng.uniform(0, 6)), held(home, 10_000_000))
        moves += home != (home := "local" if chosen.place == "local" else "shards")
    assert moves == 1


def test_homes_that_cannot_take_the_state():
    placement = Placement(memory=1000)
    chosen = choose(placement, 10, held("local", 10**6), {"shards": "r remembers epochs"})
    assert chosen.place == "local"
    assert "; not as one Spark job: r remembers epochs" in chosen.reason
    assert chosen.reason.startswith("the driver is to hold 1,000 bytes, and nowhere would hold less")


def test_one_place_is_no_choice():
    assert choose(Placement(["process"]), 1, HeldState("shards")).reason == "it was chosen for all epochs"
    placement = Placement(["job"])
    told = [choose(placement, rows, HeldState("shards")).place for rows in (1, 4000, 10**6)]
    assert told == ["files", "files", "job"]


def test_a_job_is_left_to_the_driver_as_long_as_that_is_quicker():
    """What opens many files far away is slow in the driver, and small changes of large consequences are not small."""
    costs = Costs(shards=64, slots=64)
    assert costs.is_small({"t": 100})
    for _ in range(20):
        costs.learn("files", "update", {"t": 100}, 400, 8.0)
    assert not costs.is_small({"t": 100})
    costs = Costs()
    for _ in range(20):
        costs.learn("files", "update", {"hub": 1}, 10**6, 0.5)
    assert not costs.is_small({"hub": 1})
    assert costs.is_small({"leaf": 1})


@pytest.mark.parametrize("wanted", [(0.002, 20e-9), (0.5, 1e-6), (1e-4, 100e-9)], ids=str)
def test_a_line_learns(wanted):
    floor, slope = wanted
    line, rng = LinearCost(0.7e-3, 50e-9), random.Random(3)
    for _ in range(200):
        work = 10 ** rng.uniform(0, 8)
        line.learn(work, (floor + slope * work) * rng.uniform(0.8, 1.2))
    for work in (1, 10**4, 10**6, 10**8):
        assert line.seconds(work) == pytest.approx(floor + slope * work, rel=0.35)


def test_a_machine_that_is_busy_moves_nothing():
    """What is slow where the state is would be as slow elsewhere, as far as nobody has measured it."""
    placement, there = Placement(), held("local", 100)
    for n in range(500):
        chosen = choose(placement, 10, there)
        assert chosen.place == "local"
        placement.costs.learn("local", "update", {"t": 10}, 40, 0.05 if n % 2 else 0.005)


def test_one_exception_is_soon_forgotten():
    line = LinearCost(0.7e-3, 50e-9)
    line.learn(10, 60.0)
    for _ in range(30):
        line.learn(10, 0.7e-3)
    assert line.seconds(10) == pytest.approx(0.7e-3, rel=0.2)


def test_fan_outs_are_learned_of_each_table():
    costs = Costs()
    for _ in range(20):
        costs.learn("local", "update", {"hub": 1}, 10_000, 1e-3)
        costs.learn("local", "update", {"leaf": 1}, 3, 1e-3)
    assert costs.work("update", {"hub": 1}) == pytest.approx(10_000, rel=0.1)
    assert costs.work("update", {"leaf": 1}) < 15


def test_what_was_learned_is_written_and_read():
    costs, other = Costs(), Costs()
    costs.learn("local", "update", {"t": 5}, 500, 0.3)
    other.take(json.loads(json.dumps(costs.to_json())))
    assert other.seconds("local", "update", {"t": 9}) == costs.seconds("local", "update", {"t": 9})


def test_what_a_version_before_files_had_learned_is_read():
    costs, old, other = Costs(), Costs(), Costs()
    old.learn("job", "update", {"t": 5}, 500, 3.0)
    said = old.to_json()
    other.take({**said, "lines": {name: line for name, line in said["lines"].items() if not name.startswith("files")}})
    assert other.seconds("job", "update", {"u": 9}) == old.seconds("job", "update", {"u": 9})
    assert other.seconds("files", "update", {"u": 9}) == costs.seconds("files", "update", {"u": 9})
