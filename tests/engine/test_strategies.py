"""Every strategy under every policy against the reference, on random programs; and what the policy promises.

An update that is abandoned half-way must leave no trace, so policies that abandon at random are among them.
"""

from __future__ import annotations

import functools
import random
from typing import Any

import pytest

from deltic.engine.local.engine import LocalEngine
from deltic.engine.local.recursion import refresh
from deltic.engine.local.recursion.refresh import Policy, Refresh
from deltic.engine.local.recursion.strategy import Strategy
from tests.conformance.engines import Driver
from tests.conformance.programs import FOLLOWS
from tests.differential.cases import Case
from tests.differential.test_datalog import check_seeds

NEVER_ABANDONED = Refresh(Policy.AUTO, float("inf"))
ALWAYS_ABANDONED = Refresh(Policy.AUTO, 0.0)
VARIANTS = {
    "elastic": (Strategy.ELASTIC, Refresh(Policy.INCREMENTAL)),
    "full": (Strategy.FULL, Refresh(Policy.INCREMENTAL)),
    "nested, recomputed": (Strategy.NESTED, Refresh(Policy.FULL)),
    "elastic, recomputed": (Strategy.ELASTIC, Refresh(Policy.FULL)),
    "nested, always abandoned": (Strategy.NESTED, ALWAYS_ABANDONED),
    "elastic, always abandoned": (Strategy.ELASTIC, ALWAYS_ABANDONED),
}


def maker(variant: str) -> Any:
    strategy, policy = VARIANTS[variant]
    return functools.partial(LocalEngine, strategy=strategy, refresh=policy)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("batch", range(3))
def test_random_programs(variant, batch):
    check_seeds(range(2_000 + batch * 20, 2_020 + batch * 20), maker(variant))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("batch", range(5))
def test_ten_times_as_many_random_programs(variant, batch):
    check_seeds(range(30_000 + batch * 120, 30_000 + (batch + 1) * 120), maker(variant))


def abandoning(rng: random.Random) -> Any:
    """`update` of a component whose check gives up sometimes."""
    original = refresh.update

    def update(component, lower, check):
        def give_up() -> None:
            check()
            if rng.random() < 0.2:
                raise refresh._Abandoned

        original(component, lower, give_up)

    return update


@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
def test_an_abandoned_update_leaves_no_trace(strategy, monkeypatch):
    """The state after a random abandonment is a bootstrap's; later epochs build on it."""
    rng = random.Random(1)
    abandoned = []
    original = refresh.Recursive._act

    def act(self, changes):
        first = all(not state.contents.runs for state in self.component.states.values())
        with monkeypatch.context() as patch:
            if not first:
                patch.setattr(refresh, "update", abandoning(rng))
            found = original(self, changes)
        abandoned.append("abandoned" in found[1])
        return found

    monkeypatch.setattr(refresh.Recursive, "_act", act)
    make = functools.partial(LocalEngine, strategy=strategy, refresh=NEVER_ABANDONED)
    for seed in range(60):
        found = Case.random(seed).disagreement(make)
        assert found is None, f"seed {seed}: {found}"
    assert sum(abandoned) > 20
    assert sum(not a for a in abandoned) > 20


CHAIN = [((f"a{i}", f"a{i + 1}"), 1) for i in range(30)]


def actions(strategy: Strategy, policy: Refresh) -> list[str]:
    """What is done in the first epoch, a deletion and an insertion."""
    driver = Driver.of_program("local", FOLLOWS)
    driver.engine = LocalEngine(driver.circuit, strategy, policy)
    epochs = [CHAIN, [(("a3", "a4"), -1)], [(("a3", "a4"), 1)]]
    return [report.action for rows in epochs for report in driver.apply({"follows": rows}).components]


@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
def test_the_switching_parameter_spans_full_and_incremental(strategy):
    """`auto` with 0 does as `full`, with infinity as `incremental`."""
    recomputed, updated = ["bootstrap"] * 3, ["bootstrap", "update", "update"]
    assert actions(strategy, ALWAYS_ABANDONED) == actions(strategy, Refresh(Policy.FULL)) == recomputed
    assert actions(strategy, NEVER_ABANDONED) == actions(strategy, Refresh(Policy.INCREMENTAL)) == updated


def test_without_counts_there_is_no_update():
    assert actions(Strategy.FULL, Refresh(Policy.INCREMENTAL)) == ["bootstrap"] * 3


DELETED, INSERTED = ("e", -1), ("e", 1)


def test_the_history_predicts_from_what_it_saw():
    """Deletions are told apart from insertions, larger changes cost less for each row, and estimates fade."""
    history = refresh._History(0.2, bootstrap=1.0)
    assert history.predict({DELETED: 10}) is None
    history.learn({DELETED: 10}, 5.0)
    assert history.predict({DELETED: 10}) == pytest.approx(5.0)
    assert 5.0 < history.predict({DELETED: 100}) < 50
    assert history.predict({INSERTED: 1000}) is None
    fades = 0
    while history.is_hopeless({DELETED: 4}):
        history.fade({DELETED: 4})
        fades += 1
    assert 0 < fades < 10


def test_only_changes_like_those_that_were_tried_are_hopeless():
    history = refresh._History(0.2, bootstrap=1.0)
    history.learn({DELETED: 10}, 0.5)
    assert history.predict({DELETED: 1000}) > 1.0
    assert not history.is_hopeless({DELETED: 1000})
    assert history.is_hopeless({DELETED: 40})
    assert not history.is_hopeless({DELETED: 10})


def test_an_update_that_was_abandoned_may_take_longer_the_next_time():
    """As long as a bootstrap: when it takes longer still, it is known to be the worse way."""
    history = refresh._History(0.2, bootstrap=1.0)
    changes = {DELETED: 10}
    limits = []
    while not history.is_hopeless(changes):
        limits.append(history.limit(changes))
        history.abandon(changes)
    assert limits == [0.2, 1.0]
    history = refresh._History(0.2, bootstrap=1.0)
    history.learn(changes, 0.3)
    assert history.limit(changes) == 1.0
    assert history.limit({INSERTED: 5}) == 0.2
