"""Every strategy under every policy against the reference, on random programs; and what the policy promises.

An update that is abandoned half-way must leave no trace, so policies that abandon at random are among them.
"""

from __future__ import annotations

import functools
import random
from typing import Any

import pytest

from deltic.algebra.zset import ZSet
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion import refresh
from deltic.engine.recursion.component import RecursiveComponent
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import from_arrow
from deltic.engine.refresh import Policy, Refresh
from tests.batches import first
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
    return functools.partial(IncrementalEngine, strategy=strategy, refresh=policy)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("batch", first(1, 5))
def test_random_programs(variant, batch):
    check_seeds(range(2_000 + batch * 12, 2_012 + batch * 12), maker(variant))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("batch", range(3))
def test_ten_times_as_many_random_programs(variant, batch):
    check_seeds(range(30_000 + batch * 40, 30_000 + (batch + 1) * 40), maker(variant))


def abandoning(rng: random.Random) -> Any:
    """`update` of a component whose check gives up sometimes."""
    original = refresh.update

    def update(component, lower, check):
        def give_up(now: int) -> None:
            check(now)
            if rng.random() < 0.2:
                raise refresh.AbandonedError(1.0)

        original(component, lower, give_up)

    return update


def state_of(component: RecursiveComponent) -> list[tuple[Any, ...]]:
    """All entries of a component's arrangements, by name, and that no relation has a change."""
    assert all(state.delta is None for state in component.states.values())
    return [
        (str(name), *(part.tobytes() for run in a.runs for part in (run.words, run.times, run.weights)))
        for state in component.states.values()
        for name, a in state.named()
    ]


@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
@pytest.mark.parametrize("seeds", [range(16), pytest.param(range(16, 60), marks=pytest.mark.slow)], ids=["few", "many"])
def test_an_abandoned_update_leaves_no_trace(strategy, seeds, monkeypatch):
    """After a random abandonment all is as it was, rows, iterations and counts; later epochs build on it."""
    rng = random.Random(1)
    abandoned, kept = [], []
    original, bootstrap = refresh.Recursive.act, refresh.bootstrap

    def begin_anew(component, lower, check):
        assert state_of(component) == kept[-1]
        bootstrap(component, lower, check)

    def act(self):
        self.component.build(self.lower)
        kept.append(state_of(self.component))
        first = all(not state.contents.runs for state in self.component.states.values())
        with monkeypatch.context() as patch:
            if not first:
                patch.setattr(refresh, "update", abandoning(rng))
                patch.setattr(refresh, "bootstrap", begin_anew)
            found = original(self)
        abandoned.append("abandoned" in (found or ""))
        return found

    monkeypatch.setattr(refresh.Recursive, "act", act)
    make = functools.partial(IncrementalEngine, strategy=strategy, refresh=NEVER_ABANDONED)
    for seed in seeds:
        found = Case.random(seed).disagreement(make)
        assert found is None, f"seed {seed}: {found}"
    assert sum(abandoned) > len(seeds) / 4
    assert sum(not a for a in abandoned) > len(seeds) / 4


CHAIN = [((f"a{i}", f"a{i + 1}"), 1) for i in range(30)]


def actions(strategy: Strategy, policy: Refresh) -> list[str]:
    """What is done in the first epoch, a deletion and an insertion."""
    driver = Driver.of_program("local", FOLLOWS)
    driver.engine = IncrementalEngine(driver.circuit, strategy, policy)
    epochs = [CHAIN, [(("a3", "a4"), -1)], [(("a3", "a4"), 1)]]
    reports = [report for rows in epochs for report in driver.apply({"follows": rows}).components]
    return [report.action for report in reports if report.strategy != "derived"]


@pytest.mark.law("ELA §5.2")
@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
def test_the_switching_parameter_spans_full_and_incremental(strategy):
    """`auto` with 0 does as `full`, with infinity as `incremental`."""
    recomputed, updated = ["bootstrap"] * 3, ["bootstrap", "update", "update"]
    assert actions(strategy, ALWAYS_ABANDONED) == actions(strategy, Refresh(Policy.FULL)) == recomputed
    assert actions(strategy, NEVER_ABANDONED) == actions(strategy, Refresh(Policy.INCREMENTAL)) == updated


def test_without_counts_there_is_no_update():
    assert actions(Strategy.FULL, Refresh(Policy.INCREMENTAL)) == ["bootstrap"] * 3


PAIRS = """
.decl edge(x: symbol, y: symbol)
.decl pair(x: symbol, z: symbol)
.output pair
pair(x, z) :- edge(x, y), edge(y, z).
"""


@pytest.mark.parametrize(("policy", "reason"), [(ALWAYS_ABANDONED, "was abandoned"), (Refresh(Policy.FULL), "is full")])
def test_a_relation_that_is_no_recursion_is_recomputed_too(policy, reason):
    driver = Driver.of_program("local", PAIRS)
    driver.engine = IncrementalEngine(driver.circuit, Strategy.NESTED, policy)
    driver.apply({"edge": CHAIN})
    result = driver.apply({"edge": [(("a3", "a4"), -1)]})
    (report,) = result.components
    assert (report.relations, report.strategy, report.action) == (("pair",), "derived", "recompute")
    assert reason in report.reason
    assert from_arrow(result.changes["pair"]) == ZSet({("a2", "a4"): -1, ("a3", "a5"): -1})
    assert driver.rows("pair") == {(f"a{i}", f"a{i + 2}") for i in range(29) if i not in (2, 3)}
