"""What `auto` decides: by work alone, and never for what costs more by its own account.

Catches a decision that depends on the load of the machine, an update that is abandoned although the rest of it is less
than a bootstrap, one that goes on for ever, and a history that is not asked, never doubted, or lost.
"""

from __future__ import annotations

import itertools
import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.datalog import check, lower, parse
from deltic.engine import refreshed_step
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import CostForecast, CostHistories, CostHistory, CostProfile, Refresh
from tests.conformance.engines import Driver

CLOSURE = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""
DELETED, INSERTED = ("e", -1), ("e", 1)


def profile(parts: list[float]) -> CostProfile:
    """A bootstrap with so much work in each iteration from 0 on."""
    found = CostProfile()
    for now, before in enumerate(itertools.accumulate(parts[:-1], initial=0.0)):
        found.reach(now, before)
    found.finish(sum(parts), 0, 0)
    return found


def ends(of: CostProfile, switch: float, parts: list[float]) -> tuple[bool, float]:
    """Whether an update with so much work in each iteration runs to its end, and what it has spent when it ends."""
    race, spent = CostForecast(of), 0.0
    for now, part in enumerate(parts):
        for step in (0.0, *[part / 10] * 10):
            spent += step
            race.reach(now, spent)
            if spent > switch * of.work and race.left(spent) > of.work:
                return False, spent
    return True, spent


WORKS = st.lists(st.floats(0.01, 10), min_size=2, max_size=30)
SWITCHES = st.sampled_from([0.01, 0.2, 1.0, 5.0])


@given(WORKS, SWITCHES, st.data())
def test_an_update_that_does_no_more_than_a_bootstrap_is_not_abandoned(parts, switch, data):
    """In any iteration: then at no time is more left of it than a bootstrap costs."""
    update = [part * data.draw(st.floats(0, 1)) for part in parts]
    assert ends(profile(parts), switch, update)[0]


@given(WORKS, st.floats(0, 0.9))
def test_an_update_that_does_a_lot_more_is_abandoned_early(parts, first):
    """When it shows, in the second iteration or later, that it does a hundred times what a bootstrap does there."""
    parts[0] = sum(parts[1:]) * first
    of = profile(parts)
    is_done, spent = ends(of, 0.2, [parts[0], *(100 * part for part in parts[1:])])
    long = max(parts[1:]) > 0.9 * of.work  # the end of the race is seen as near
    assert long or (not is_done and spent <= parts[0] + 0.2 * of.work + 10 * max(parts[1:]))


@given(WORKS, st.sampled_from([0.01, 0.2, 1.0]), st.floats(1, 100))
def test_an_update_past_the_end_of_a_bootstrap_may_take_as_long_again(parts, switch, after):
    """Where there is nothing to go by it is abandoned when it has cost another bootstrap, and infinity means never."""
    of = profile(parts)
    long = [*(part / 2 for part in parts), *([of.work / 10] * 100)]
    is_done, spent = ends(of, switch, long)
    assert not is_done
    assert spent <= sum(parts) / 2 + 1.2 * of.work
    assert ends(of, float("inf"), [after * part for part in long])[0]


@pytest.mark.law("ELA §5.2")
@given(WORKS, st.floats(0.05, 0.9))
def test_the_switching_parameter_is_the_work_that_an_update_may_do_before_it_is_judged(parts, switch):
    """[ELA §5.2]: where nothing shows that the rest is less, an update ends at that part of the cost of a bootstrap."""
    of = profile([0.0, 1e-9, *parts])
    is_done, spent = ends(of, switch, [0.0, of.work])
    assert not is_done
    assert switch * of.work < spent <= (switch + 0.11) * of.work


@given(WORKS, st.sets(st.integers(0, 30)))
def test_a_course_that_is_seen_now_and_then_has_its_work_in_order(parts, seen):
    """Compiled iterations are seen now and then: in between each has an equal part."""
    whole = profile(parts)
    found = CostProfile()
    for now in sorted(seen):
        if now < len(parts):
            found.reach(now, whole.until(now))
    found.finish(whole.work, 0, 0)
    works = [found.until(now) for now in range(len(parts) + 2)]
    assert works == sorted(works)
    assert works[-1] == whole.work
    assert all(found.until(now) == pytest.approx(whole.until(now)) for now in seen if now < len(parts))


def random_edges(rng, count):
    return {(rng.randrange(30), rng.randrange(30)) for _ in range(count)}


def random_epochs(rng):
    """Changes of a graph, some small and some large."""
    present: set[tuple[int, int]] = set()
    for _ in range(12):
        count = rng.choice((1, 3, 60))
        gone = set(rng.sample(sorted(present), min(count, len(present)))) if rng.random() < 0.6 else set()
        come = random_edges(rng, count) - present
        present = (present - gone) | come
        yield {"e": [*((row, -1) for row in gone), *((row, 1) for row in come)]}


@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
def test_decisions_do_not_depend_on_the_load(strategy, monkeypatch):
    """With work measured in rows visited, they are the same however slow the clock on the wall is."""
    monkeypatch.setattr(refreshed_step, "QUICK", 0)
    actions = []
    for seed in range(3):
        wanted = closures(seed)
        found = [decisions(seed, strategy, slow, wanted, monkeypatch) for slow in (1e-9, 1.0, 1000.0)]
        assert found[0] == found[1] == found[2]
        actions += [(action, "abandoned" in reason, "expected" in reason) for action, reason in found[0]]
    assert {("update", False, False), ("bootstrap", True, False), ("bootstrap", False, True)} <= set(actions)


def closures(seed):
    """The closure after each of the random epochs."""
    driver, found = Driver.of_program("reference", CLOSURE), []
    for changes in random_epochs(random.Random(seed)):
        driver.apply(changes)
        found.append(driver.rows("p"))
    return found


def decisions(seed, strategy, slow, wanted, monkeypatch):
    """What is done in random epochs, and why, on a machine that is so slow at random; the views are right."""
    rng, noise = random.Random(seed), random.Random(slow)
    circuit = lower(check([parse(CLOSURE)]))
    engine = IncrementalEngine(circuit, strategy, Refresh(switch=0.05))
    driver = Driver(engine, circuit)
    now = itertools.accumulate(slow * noise.random() for _ in itertools.count())
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(refreshed_step, "processor_time", lambda: engine.executor.running.visited)
        patch.setattr(time, "perf_counter", lambda: next(now))
        for changes, expected in zip(random_epochs(rng), wanted, strict=True):
            found += [(report.action, report.reason) for report in driver.apply(changes).components]
            assert driver.rows("p") == expected
    return found


def test_reasons_tell_rows_visited():
    """Of updates, of bootstraps, and of an update that was abandoned in the middle of its first search."""
    driver = Driver.of_program("local", CLOSURE)
    (first,) = driver.insert(e=[(i, i + 1) for i in range(20)]).components
    (second,) = driver.apply({"e": [((3, 4), -1)]}).components
    assert second.reason == f"it visited {second.rows_visited:,} rows, the last recomputation {first.rows_visited:,}"
    driver = Driver.of_program("local, abandoned", CLOSURE)
    driver.insert(e=[(i, i + 1) for i in range(20)])
    (third,) = driver.apply({"e": [((3, 4), -1)]}).components
    (fourth,) = driver.apply({"e": [((3, 4), 1)]}).components
    start, end = (
        "an update was abandoned after ",
        " rows visited: the rest of it seemed to cost more than a recomputation",
    )
    assert third.reason.startswith(start)
    wasted = int(third.reason.removeprefix(start).partition(" ")[0])
    assert 0 < wasted < third.rows_visited
    assert third.reason.endswith(f"{end}, the last of which visited {first.rows_visited:,} rows")
    assert fourth.reason.endswith(f", the last of which visited {third.rows_visited - wasted:,} rows")


def test_the_history_predicts_from_what_it_saw():
    """Deletions are told apart from insertions, larger changes cost less for each row, and estimates fade."""
    history = CostHistory()
    assert history.predict({DELETED: 10}) is None
    history.learn({DELETED: 10}, 5.0)
    assert history.predict({DELETED: 10}) == pytest.approx(5.0)
    assert 5.0 < history.predict({DELETED: 100}) < 50
    assert history.predict({INSERTED: 1000}) is None
    fades = 0
    while history.is_hopeless({DELETED: 4}, 1.0):
        history.fade({DELETED: 4})
        fades += 1
    assert 0 < fades < 10


def test_only_changes_like_those_that_were_tried_are_hopeless():
    history = CostHistory()
    history.learn({DELETED: 10}, 0.5)
    assert history.predict({DELETED: 1000}) > 1.0
    assert not history.is_hopeless({DELETED: 1000}, 1.0)
    assert history.is_hopeless({DELETED: 40}, 1.0)
    assert not history.is_hopeless({DELETED: 10}, 1.0)


def test_what_was_abandoned_is_believed_to_cost_what_it_seemed_to():
    history = CostHistory()
    history.learn({DELETED: 10}, 0.5)
    history.abandon({DELETED: 10}, 3.0)
    assert history.predict({DELETED: 10}) == pytest.approx(3.0)
    assert history.is_hopeless({DELETED: 10}, 2.9)
    assert not history.is_hopeless({DELETED: 10}, 3.1)


def test_histories_are_written_and_stay_with_relations_that_are_kept():
    known, again, renamed = CostHistories(), CostHistories(), CostHistories()
    known.of(("p", "q")).learn({DELETED: 10}, 0.5)
    known.of(("r",)).learn({INSERTED: 10}, 0.5)
    known.of(("s",))
    written = json.loads(json.dumps(known.written()))
    assert [one["relations"] for one in written] == [["p", "q"], ["r"]]
    again.learn([[one["relations"], one] for one in written])  # as shards wrote them before
    assert again.written() == known.written()
    renamed.learn(written, {"t": "q", "p": "p", "other": "s"})
    assert renamed.of(("p", "t")) == known.of(("q", "p"))
    assert len(renamed.written()) == 1


def test_a_bootstrap_from_fewer_rows_is_expected_to_cost_less():
    of = CostProfile()
    of.finish(4.0, 1_000, 200)
    assert [of.expected(size) for size in (0, 50, 200, 400)] == [0.0, 1.0, 4.0, 8.0]
