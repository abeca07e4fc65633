"""Recursions that grow out of one shard into rounds, and come back, by the bytes that a task is to hold.

Catches an epoch that was given up on the way and left something behind, rows that are lost where a program is laid out
in another way, a recursion that goes to and fro, one that has no other way and is watched, and reports that say
something else than was done.
"""

from __future__ import annotations

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.errors import DelticError
from tests.conformance.engines import Driver, in_tasks, on_shards
from tests.engine.reopening import saved

E = ".decl e(x: number, y: number) .input e\n"
DOUBLING = E + ".decl p(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
LIMIT = 4000


def driver(program=DOUBLING, make=on_shards, **options):
    circuit = lower(check([parse(program)]))
    return Driver(make(circuit, **{"shards": 2, "rounds": "auto", "task_memory": LIMIT} | options), circuit)


def in_jobs(circuit, **options):
    return in_tasks(circuit, "job", few=0, **options)


def chain(first, last):
    return [(i, i + 1) for i in range(first, last)]


def delete(there, **rows):
    return there.apply({name: [(row, -1) for row in table] for name, table in rows.items()})


def way(result):
    (report,) = result.components
    return report.way


@pytest.mark.parametrize("make", [on_shards, pytest.param(in_jobs, marks=pytest.mark.slow)])
def test_out_of_one_shard_and_back(make):
    there = driver(make=make)
    assert way(there.insert(e=chain(0, 8))).startswith("on one shard, where it has ")
    assert not there.engine.executor.placed.in_rounds
    grown = there.insert(e=chain(8, 40))
    assert way(grown).startswith("in rounds, where ")
    assert grown.components[0].action == "update", "what was there has moved before"
    assert len(there.rows("p")) == 40 * 41 // 2
    assert there.engine.epoch == 2
    shrunk = delete(there, e=chain(2, 40))
    assert way(shrunk).startswith("in rounds"), "an epoch ends where it began"
    assert there.rows("p") == {(0, 1), (0, 2), (1, 2)}
    assert way(there.insert(e=chain(2, 3))).startswith("on one shard, ")
    assert len(there.rows("p")) == 6


def test_reports_and_explain_say_which_why_and_what_the_other_was_expected_to_cost(golden):
    there = driver()
    one = there.insert(e=chain(0, 8))
    parts = [way(one), way(there.insert(e=chain(8, 40)))]
    explained = there.engine.explain("p")
    assert f"\n\np {parts[1]}\n\n" in explained
    assert "in rounds of exchanges: no key is handed on by all rules, and no task has room for it" in explained
    golden("engine/room.txt", "\n".join(parts) + "\n")


def test_an_epoch_that_is_rejected_after_the_recursion_grew_leaves_equal_rows():
    there = driver()
    there.insert(e=chain(0, 8))
    with there.engine.prepare({"e": there.batch("e", [(row, 1) for row in chain(8, 40)])}) as prepared:
        prepared.abort()
    assert (len(there.rows("p")), there.engine.epoch) == (36, 1)
    with pytest.raises(DelticError, match="insert a row that is present"):
        there.insert(e=chain(7, 9))
    assert len(there.rows("p")) == 36
    assert delete(there, e=chain(0, 1)).rows_in == 1
    assert len(there.rows("p")) == 28


def test_two_recursions_grow_each_for_itself():
    there = driver(
        E
        + ".decl q(x: number, y: number) q(x, y) :- e(x, y), x < 2. q(x, z) :- q(x, y), q(y, z)."
        + ".decl p(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
    )
    there.insert(e=chain(0, 40))
    assert there.engine.executor.placed.in_rounds == {"p"}
    assert len(there.rows("q")) == 3


@pytest.mark.parametrize(
    ("program", "options", "why"),
    [
        (DOUBLING.replace("p(y, z)", "e(y, z)"), {}, "on each shard its share"),
        (DOUBLING, {"strategy": Strategy.FULL}, "its strategy is full"),
        (DOUBLING, {"refresh": Refresh(Policy.FULL)}, "each epoch computes it anew"),
    ],
    ids=["key", "full", "anew"],
)
def test_what_has_no_choice_is_not_watched(program, options, why):
    there = driver(program, task_memory=1, **options)
    assert way(there.insert(e=chain(0, 40))) == ""
    assert why in there.engine.explain("p")
    assert not there.engine.executor.placed.in_rounds


def test_a_choice_of_the_user_is_not_revised():
    for rounds, entry in (
        ("always", "in rounds of exchanges"),
        ("never", 'rounds are never to be taken: rounds="never"'),
    ):
        there = driver(rounds=rounds, task_memory=1)
        assert way(there.insert(e=chain(0, 10))) == ""
        assert entry in there.engine.explain("p")


def test_a_recursion_that_is_added_grows_while_it_is_built():
    there = driver(E + ".decl a(x: number) a(x) :- e(x, _).")
    there.insert(e=chain(0, 40))
    there.extend(DOUBLING)
    assert there.engine.executor.placed.in_rounds == {"p"}
    assert len(there.rows("p")) == 40 * 41 // 2
    delete(there, e=chain(20, 21))
    assert len(there.rows("p")) == 20 * 21 // 2 + 19 * 20 // 2


@pytest.mark.parametrize("rounds", ["auto", "always", "never"])
@pytest.mark.parametrize("last", [8, 40])
def test_a_state_opens_under_each_choice(rounds, last):
    there, other = driver(), driver(rounds=rounds)
    there.insert(e=chain(0, last))
    other.engine.restore(saved(there.engine.capture()))
    assert other.engine.executor.placed.in_rounds == (
        {"p"} if rounds == "always" or (rounds == "auto" and last == 40) else set()
    )
    assert other.engine.epoch == 1
    for each in (there, other):
        each.insert(e=chain(last, last + 1))
        delete(each, e=chain(0, 1))
    assert other.rows("p") == there.rows("p")
