"""A state that moves between the local engine and shards, in the middle of what else goes on.

Catches a move that leaves half of a state behind, one that fails and is not taken back, rows that tables do not show
and that are lost on the way, what only the old engine remembers, and reports that say something else than was done.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltic.circuit.graph import Circuit
from deltic.circuit.reading import parse_circuit
from deltic.datalog import check, lower, parse
from deltic.engine.executors.placed import Expected, Placed
from deltic.engine.executors.spark.placement import Placement, home_of
from deltic.errors import DelticError
from tests.conformance.engines import Driver
from tests.conformance.test_evolution import WINDOW
from tests.engine.executors.spark.placing import placed
from tests.engine.reopening import saved

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl reach(x: number, y: number)
    reach(x, y) :- edge(x, y).
    reach(x, z) :- reach(x, y), edge(y, z).
"""
COSTS = {
    "local": Expected(0.0123, 4096),
    "process": Expected(0.2, 4096, 3.5),
    "job": Expected(1234.5, 0, 3.5),
}


class Script(Placement):
    """Chooses the next of some places."""

    def __init__(self, *places):
        super().__init__()
        self.next = list(places)

    def choose(self, changed, held, barred):
        place = self.next.pop(0)
        if home_of(place) in barred and home_of(place) != held.home:
            return Placed("local", f"not {place}: {barred[home_of(place)]}", COSTS)
        return Placed(place, "the script says so", COSTS)


def circuit_of(text):
    return lower(check([parse(text)]))


def driver(*places, program=PROGRAM):
    circuit = program if isinstance(program, Circuit) else circuit_of(program)
    return Driver(placed(circuit, Script(*places)), circuit)


def test_each_place_in_turn():
    there = driver("local", "job", "process", "local", "process", "job")
    for n in range(6):
        there.insert(edge=[(n, n + 1)])
        assert len(there.rows("reach")) == (n + 1) * (n + 2) // 2
    assert there.engine.epoch == 6


def test_a_report_says_where_and_why_and_what_else_was_expected(golden):
    there = driver("local", "job")
    there.insert(edge=[(1, 2)])
    result = there.insert(edge=[(2, 3)])
    assert result.placement.moved > 0
    assert next(iter(result.phases)) == "moving"
    changed = replace(result.placement, moved=2.25)
    golden("engine/placement.txt", f"{changed}\n")


def test_explain_tells_of_the_last_epoch():
    there = driver("process")
    assert "placement:" not in there.engine.explain("reach")
    there.insert(edge=[(1, 2)])
    text = there.engine.explain("reach")
    assert "the last epoch ran on shards in the driver's process: the script says so" in text
    assert "  as one Spark job: expected 1,234 s after a move of 3.5 s, 0 bytes" in text


def test_a_move_that_fails_leaves_the_state_where_it_is(monkeypatch):
    there = driver("local", "job", "local", "job", "process")
    there.insert(edge=[(1, 2)])
    engine = there.engine
    homes = engine.executor._homes
    made = homes["shards"]

    def without_workers(*args):
        def fail(*_):
            raise DelticError("the cluster is gone")

        executor = made(*args)
        executor.holder.run_tasks = fail
        return executor

    homes["shards"] = without_workers
    result = there.insert(edge=[(2, 3)])
    assert engine.executor.home == "local"
    assert result.placement.place == "local"
    assert len(there.rows("reach")) == 3
    homes["shards"] = made
    result = there.insert(edge=[(3, 4)])
    assert "the state could not be moved there (the cluster is gone)" in result.placement.reason
    assert len(there.rows("reach")) == 6


def test_an_epoch_that_is_rejected_after_a_move_leaves_equal_rows():
    there = driver("local", "process", "local")
    there.insert(edge=[(1, 2)])
    with pytest.raises(DelticError, match="insert a row that is present"):
        there.insert(edge=[(1, 2)])
    assert (there.engine.executor.home, there.engine.epoch) == ("shards", 1)
    with there.engine.prepare({"edge": there.batch("edge", [((2, 3), 1)])}) as prepared:
        assert len(there.rows("reach")) == 3
        prepared.abort()
    assert (there.engine.executor.home, there.rows("reach")) == ("local", {(1, 2)})


def test_what_trusted_changes_have_beside_the_rows_moves_too():
    there, stays = driver("local", "job", "local"), driver("local", "local", "local")
    for pairs in [[((1, 2), 3), ((4, 5), -1)], [((1, 2), -2), ((2, 3), 1)], [((4, 5), 2), ((1, 2), -1)]]:
        one, other = (each.changes({"edge": pairs}, "trust") for each in (there, stays))
        assert one == other


def test_what_tables_do_not_tell_stays_where_it_is():
    there = driver("local", "job", "process", program=parse_circuit(WINDOW))
    there.insert(seen=[(10, 8)])
    result = there.insert(seen=[(9, 7), (1, 1)])
    assert result.placement.reason == "not job: recent remembers epochs"
    assert there.rows("recent") == {(10, 8), (9, 7)}


def test_definitions_change_where_the_state_is():
    there = driver("job", "job", "local", "local")
    there.insert(edge=[(1, 2), (2, 1)])
    assert there.extend(PROGRAM + ".decl loop(x: number) loop(x) :- reach(x, x).") == {"loop": {(1,): 1, (2,): 1}}
    assert there.engine.executor.home == "shards"
    there.insert(edge=[(2, 3)])
    assert there.engine.executor.home == "local"
    assert there.rows("loop") == {(1,), (2,)}


@pytest.mark.parametrize("place", ["local", "process", "job"])
def test_an_aborted_extension_leaves_everything_as_it_was(place):
    there = driver(place, place, place)
    there.insert(edge=[(1, 2)])
    other = circuit_of(".decl edge(x: number, y: number) .input edge .decl a(x: number) a(x) :- edge(x, _).")
    with there.engine.prepare_extension(other) as epoch:
        assert epoch.version.count("a") == there.engine.count("a") == 1
    assert there.engine.count("reach") == 1
    assert there.insert(edge=[(2, 3)]).rows_in == 1
    assert there.rows("reach") == {(1, 2), (2, 3), (1, 3)}


@pytest.mark.parametrize("home", ["local", "process", "job"])
def test_a_state_is_read_by_the_engine_that_wrote_it(home):
    there, other = driver(home, "local"), driver("process", "local")
    there.insert(edge=[(1, 2), (2, 3)])
    image = there.engine.capture()
    other.engine.restore(saved(image))
    assert other.engine.executor.home == home_of(home)
    assert other.engine.executor.placement.costs.to_json() == there.engine.executor.placement.costs.to_json()
    assert other.rows("reach") == {(1, 2), (2, 3), (1, 3)}
    assert other.insert(edge=[(3, 4)]).rows_in == 1
    assert len(other.rows("reach")) == 6


def test_growing_out_of_the_driver():
    """A state that exceeds the memory leaves it, and small changes are made in the driver none the less."""
    circuit = circuit_of(PROGRAM)
    there = Driver(placed(circuit, Placement(memory=60_000)), circuit)
    places = []
    for n in range(4):
        rows = [(10_000 * n + i, -10_000 * n - i) for i in range(1, 400 + n * 400)]
        places.append(there.insert(edge=rows).placement.place)
    assert places[0] == "local"
    assert places[-1] == "job"
    assert there.insert(edge=[(0, 0)]).placement.place == "process"
    assert there.engine.resident < 60_000 < there.engine.nbytes
